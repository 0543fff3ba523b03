//! `spec.provider.workers`: each pool by itself, and all of them together.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::model::{Amount, IntOrString, Kind, Worker};

use super::offer::Offer;
use super::report::{At, Report};
use super::{
    Input, Pool, kubernetes, machine, metadata, names, system_components, taints, volumes,
    worker_config, zones,
};

const MOST_NAME: usize = 15;
const CREATION_TIMEOUT: Duration = Duration::from_secs(20 * 60);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);

/// What the pools are judged with.
pub(super) struct Judge<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) offer: Offer<'a>,
    /// What the last run chose from, for what is no longer offered.
    pub(super) offer_before: Option<Offer<'a>>,
}

/// One pool, where it stands and what it was.
pub(super) struct Scope<'s> {
    pub(super) worker: &'s Worker,
    pub(super) before: Option<&'s Worker>,
    pub(super) at: At<'s>,
}

impl<'s> Scope<'s> {
    /// The first zone of the pool in which something of that name is not to be had.
    pub(super) fn zone_without(
        &self,
        without: &HashSet<(&str, &str)>,
        name: &str,
    ) -> Option<&'s str> {
        let mut zones = self.worker.zones.iter().map(String::as_str);
        zones.find(|zone| !without.is_empty() && without.contains(&(*zone, name)))
    }
}

pub(super) fn check(judge: &Judge, at: &At, report: &mut Report) -> Option<Vec<Pool>> {
    let workers = &judge.input.shoot.spec.provider.workers;
    if workers.is_empty() {
        report
            .error(
                at,
                Kind::Required,
                "pool/none",
                "at least one pool is required",
            )
            .hint("a shoot is made of the machines of its pools");
        return None;
    }
    let before = judge
        .input
        .before
        .map_or(&[][..], |it| &it.spec.provider.workers);
    let before: HashMap<&str, &Worker> = before.iter().map(|it| (it.name.as_str(), it)).collect();
    let mut known = HashMap::with_capacity(workers.len());
    let mut pools = Vec::with_capacity(workers.len());
    for (i, worker) in workers.iter().enumerate() {
        let pool = Scope {
            worker,
            before: before.get(worker.name.as_str()).copied(),
            at: at.index(i),
        };
        name(judge, &pool, report);
        if let Some(first) = known
            .insert(worker.name.as_str(), i)
            .filter(|_| !worker.name.is_empty())
        {
            let message = format!("there is a pool {} already", worker.name);
            report
                .error(
                    &pool.at.key("name"),
                    Kind::Duplicate,
                    "pool/duplicate",
                    message,
                )
                .see(&at.index(first).key("name"), "the first one");
        }
        pools.extend(check_one(judge, &pool, report));
    }
    system_components::check(workers, at, report);
    autoscaling(workers, at, report);
    (pools.len() == workers.len()).then_some(pools)
}

fn name(judge: &Judge, pool: &Scope, report: &mut Report) {
    let codes = ("pool/name", "pool/name-too-long");
    let config = pool.worker.provider_config.as_ref();
    // Those are Kubermatic's, which names its pools at will.
    let is_own = config.is_some_and(|it| it.template.is_some() || it.instancetype.is_some());
    let most = match is_own {
        true => room(judge, pool).max(MOST_NAME),
        false => MOST_NAME,
    };
    let at = &pool.at.key("name");
    names::check_dns_label(at, &pool.worker.name, most, codes, report);
}

/// What the names of machines leave of 63 characters.
fn room(judge: &Judge, pool: &Scope) -> usize {
    /// Between the others, the hash, and numbers of machines up to 9999.
    const OTHERS: usize = "--z--".len() + 5 + 4;
    let id = metadata::id(&judge.input.shoot.metadata);
    let zones = pool.worker.zones.len().to_string();
    names::MOST_NAME.saturating_sub(id.len() + zones.len() + OTHERS)
}

fn check_one(judge: &Judge, pool: &Scope, report: &mut Report) -> Option<Pool> {
    let (worker, at) = (pool.worker, &pool.at);
    let size = size(pool, report);
    let bounds = bounds(pool, report);
    names::check_labels(&at.key("labels"), &worker.labels, report);
    names::check_annotations(&at.key("annotations"), &worker.annotations, report);
    taints::check(&worker.taints, &at.key("taints"), report);
    zones::check(judge, pool, report);
    settings(pool, report);
    let config = worker_config::check(judge, pool, report);
    let machine_type = machine::machine_type(judge, pool, report);
    let image = machine::image(judge, pool, report);
    let root = volumes::root(judge, pool, report);
    let mut data = volumes::data(judge, pool, report);
    if let (Some(data), Some(root)) = (&mut data, &root) {
        data.extend(volumes::further(pool, root));
    }

    if let (Some(root), Some(data)) = (&root, &data) {
        volumes::migrating(pool, root, data, report);
    }

    let (minimum, maximum) = size?;
    let (surge, unavailable) = bounds?;
    let mcm = worker.machine_controller_manager.as_ref();
    let timeout = |of: Option<&crate::model::Duration>, default| of.map_or(default, |it| it.value);
    Some(Pool {
        name: worker.name.clone(),
        zones: worker.zones.clone(),
        minimum,
        maximum,
        surge,
        unavailable,
        machine_type: machine_type?,
        image: image?,
        root: root?,
        data: data?,
        worker: config?,
        labels: worker.labels.clone(),
        annotations: worker.annotations.clone(),
        taints: worker.taints.clone(),
        cri: worker.cri.as_ref().map(|it| it.name.clone()),
        ca_bundle: worker.ca_bundle.clone(),
        kubelet: kubelet(judge, worker),
        system_components: system_components::are_allowed(worker),
        creation_timeout: timeout(
            mcm.and_then(|it| it.machine_creation_timeout.as_ref()),
            CREATION_TIMEOUT,
        ),
        drain_timeout: timeout(
            mcm.and_then(|it| it.machine_drain_timeout.as_ref()),
            DRAIN_TIMEOUT,
        ),
    })
}

/// The pool's own settings over those of the shoot.
fn kubelet(judge: &Judge, worker: &Worker) -> Option<crate::model::Kubelet> {
    let own = worker
        .kubernetes
        .as_ref()
        .and_then(|it| it.kubelet.as_ref());
    own.or(judge.input.shoot.spec.kubernetes.kubelet.as_ref())
        .cloned()
}

fn size(pool: &Scope, report: &mut Report) -> Option<(usize, usize)> {
    let (minimum, maximum) = (pool.worker.minimum, pool.worker.maximum);
    let at_minimum = &pool.at.key("minimum");
    let at_maximum = &pool.at.key("maximum");
    for (at, count) in [(at_minimum, minimum), (at_maximum, maximum)] {
        if count < 0 {
            report.error(
                at,
                Kind::Invalid,
                "pool/negative",
                format!("is {count}, below 0"),
            );
        }
    }
    let sizes = (
        usize::try_from(minimum).ok()?,
        usize::try_from(maximum).ok()?,
    );
    if maximum < minimum {
        let message = format!("is {maximum}, below the minimum of {minimum}");
        report
            .error(
                at_maximum,
                Kind::Forbidden,
                "pool/minimum-above-maximum",
                message,
            )
            .see(at_minimum, "the minimum");
        return None;
    }
    if minimum == 0 && maximum != 0 {
        let message =
            format!("is 0 while the maximum is {maximum}; a pool cannot grow from nothing");
        report
            .error(at_minimum, Kind::Forbidden, "pool/scale-from-zero", message)
            .see(at_maximum, "the maximum")
            .hint("write 1, or 0 for both");
        return None;
    }
    Some(sizes)
}

/// maxSurge and maxUnavailable.
fn bounds(pool: &Scope, report: &mut Report) -> Option<(Amount, Amount)> {
    let at_surge = &pool.at.key("maxSurge");
    let at_unavailable = &pool.at.key("maxUnavailable");
    let surge = amount(pool.worker.max_surge.as_ref(), 1, at_surge, report);
    let unavailable = amount(
        pool.worker.max_unavailable.as_ref(),
        0,
        at_unavailable,
        report,
    );
    if let Some(Amount::Percent(percent)) = unavailable
        && percent > 100
    {
        let message = format!("is {percent}%, more than all");
        report.error(
            at_unavailable,
            Kind::Invalid,
            "pool/unavailable-above-all",
            message,
        );
        return None;
    }
    let (surge, unavailable) = (surge?, unavailable?);
    // A pool of none is judged as if it had one.
    let machines = usize::try_from(pool.worker.minimum).unwrap_or(0).max(1);
    if surge.rounded_up(machines) == 0 && unavailable.rounded_down(machines) == 0 {
        report
            .error(
                at_unavailable,
                Kind::Invalid,
                "pool/no-room-to-roll",
                format!(
                    "comes to 0 of {machines}, and maxSurge too; no machine could ever be replaced"
                ),
            )
            .see(at_surge, "maxSurge")
            .hint("let one of both be at least 1");
        return None;
    }
    Some((surge, unavailable))
}

fn amount(
    given: Option<&IntOrString>,
    default: usize,
    at: &At,
    report: &mut Report,
) -> Option<Amount> {
    const MOST: usize = 1_000_000;
    let told = match given {
        None => return Some(Amount::Number(default)),
        Some(IntOrString::Int(count)) => match usize::try_from(*count) {
            Ok(count) => return Some(Amount::Number(count)),
            Err(_) => format!("is {count}, below 0"),
        },
        Some(IntOrString::String(text)) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            let is_percent = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            match digits.parse().ok().filter(|it| is_percent && *it <= MOST) {
                Some(percent) => return Some(Amount::Percent(percent)),
                None => format!("{text:?} is neither a count nor a share"),
            }
        }
    };
    report
        .error(at, Kind::Invalid, "pool/amount", told)
        .hint("write a count such as 1, or a share such as 25%");
    None
}

fn settings(pool: &Scope, report: &mut Report) {
    let (worker, at) = (pool.worker, &pool.at);
    if let Some(cri) = worker
        .cri
        .as_ref()
        .filter(|it| it.name != "containerd" && !it.name.is_empty())
    {
        let message = format!("{:?} is not supported", cri.name);
        report
            .error(
                &at.key("cri").key("name"),
                Kind::NotSupported,
                "pool/cri",
                message,
            )
            .hint("it has to be containerd");
    }
    if let Some(bundle) = &worker.ca_bundle
        && !is_pem_certificates(bundle)
    {
        let message = "holds no PEM certificate";
        report.error(
            &at.key("caBundle"),
            Kind::Invalid,
            "pool/ca-bundle",
            message,
        );
    }
    if let Some(own) = &worker.kubernetes {
        let at = &at.key("kubernetes");
        if let Some(it) = &own.kubelet {
            kubernetes::kubelet(it, &at.key("kubelet"), report);
        }
    }
    if let Some(retries) = worker
        .machine_controller_manager
        .as_ref()
        .and_then(|it| it.max_evict_retries)
        && retries < 0
    {
        let at = &at.key("machineControllerManager");
        let message = format!("is {retries}, below 0");
        report.error(
            &at.key("maxEvictRetries"),
            Kind::Invalid,
            "pool/negative",
            message,
        );
    }
}

/// Blocks of base64 between the two lines that PEM has, at least one, and nothing but space and comments beside them.
pub(super) fn is_pem_certificates(text: &str) -> bool {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let mut parts = text.split(BEGIN).skip(1).peekable();
    parts.peek().is_some()
        && parts.all(|part| {
            part.split_once(END).is_some_and(|(body, _)| {
                let body: String = body.split_whitespace().collect();
                use base64::Engine;
                let bytes = base64::engine::general_purpose::STANDARD.decode(body);
                // Every certificate is a sequence.
                bytes.is_ok_and(|bytes| bytes.first() == Some(&0x30))
            })
        })
}

/// Nothing moves a pool between its bounds yet; said once, whatever the number of pools.
fn autoscaling(workers: &[Worker], at: &At, report: &mut Report) {
    let mut wide = workers
        .iter()
        .enumerate()
        .filter(|(_, it)| it.minimum < it.maximum);
    let Some((i, first)) = wide.next() else {
        return;
    };
    let others = match wide.count() {
        0 => String::new(),
        1 => ", and another one".to_owned(),
        more => format!(", and {more} others"),
    };
    let message = format!(
        "pool {} has room to grow{others}, and no autoscaler runs",
        first.name
    );
    report
        .warning(
            &at.index(i).key("maximum"),
            Kind::NotSupported,
            "pool/no-autoscaler",
            message,
        )
        .see(&at.index(i).key("minimum"), "what it starts with")
        .hint("a pool starts with its minimum; its size is changed by hand");
}
