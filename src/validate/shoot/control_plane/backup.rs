//! Regular backups.

use crate::backup::{BackupDestination, Recipients, RetentionPolicy, parse_s3_endpoint};
use crate::model::{BackupConfig, BackupRetention, Cron, FindingKind};
use crate::validate::report::{FieldCursor, FindingSink};

/// Regular backups of a shoot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScheduledBackups {
    /// In UTC.
    pub(crate) schedule: Cron,
    /// A claim or a bucket.
    pub(crate) destination: BackupDestination,
    /// URL of an S3 server other than AWS.
    pub(crate) s3_endpoint: Option<String>,
    /// `None` if nothing is encrypted.
    pub(crate) recipients: Option<Recipients>,
    /// Keys are included without encryption.
    pub(crate) with_plain_keys: bool,
    /// The default keeps all.
    pub(crate) retention: RetentionPolicy,
}

/// The code of all findings.
const CODE: &str = "control-plane/backup";

pub(super) fn check(
    given: &BackupConfig,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<ScheduledBackups> {
    let schedule = schedule(&given.schedule, &at.key("schedule"), report);
    let destination = destination(&given.destination, &at.key("destination"), report);
    check_endpoint(given, destination.as_ref(), &at.key("s3Endpoint"), report);
    let recipients = recipients(&given.recipients, &at.key("recipients"), report);
    check_keys(given, at, report);
    Some(ScheduledBackups {
        schedule: schedule?,
        destination: destination?,
        s3_endpoint: given.s3_endpoint.clone(),
        recipients,
        with_plain_keys: given.with_plain_keys,
        retention: retention(given.retention.as_ref()),
    })
}

fn schedule(text: &str, at: &FieldCursor, report: &mut FindingSink) -> Option<Cron> {
    // A required field that is empty is reported as missing.
    if text.is_empty() {
        return None;
    }
    let parsed = Cron::parse(text).and_then(|cron| match cron.has_times() {
        true => Ok(cron),
        false => Err("there is no such day".to_owned()),
    });
    let why = match parsed {
        Ok(cron) => return Some(cron),
        Err(why) => why,
    };
    let message = format!("{text:?} is not a valid cron expression: {why}");
    report
        .error(at, FindingKind::Invalid, CODE, message)
        .hint("write MINUTE HOUR DAY MONTH WEEKDAY, for example \"*/5 * * * *\"");
    None
}

fn destination(
    text: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<BackupDestination> {
    if text.is_empty() {
        return None;
    }
    let message = match text.parse() {
        Ok(BackupDestination::Directory(_)) => {
            format!("{text:?} is a directory, which only the command kvshoot backup can use")
        }
        Ok(destination) => return Some(destination),
        Err(why) => format!("{text:?} is not a valid destination: {why}"),
    };
    report
        .error(at, FindingKind::Invalid, CODE, message)
        .hint("write s3://BUCKET/PREFIX or pvc:NAME");
    None
}

fn check_endpoint(
    given: &BackupConfig,
    destination: Option<&BackupDestination>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let Some(endpoint) = &given.s3_endpoint else {
        return;
    };
    if let Err(why) = parse_s3_endpoint(endpoint) {
        let message = format!("{endpoint:?} is not a valid URL: {why}, without credentials");
        report.error(at, FindingKind::Invalid, CODE, message);
    }
    if let Some(BackupDestination::Claim(_)) = destination {
        let message = "applies to destinations s3://BUCKET/PREFIX only";
        report.error(at, FindingKind::Forbidden, CODE, message);
    }
}

fn recipients(given: &[String], at: &FieldCursor, report: &mut FindingSink) -> Option<Recipients> {
    for (index, recipient) in given.iter().enumerate() {
        if let Err(error) = Recipients::parse(recipient) {
            let at = &at.index(index);
            report.error(at, FindingKind::Invalid, CODE, error.to_string());
        }
    }
    Recipients::parse(&given.join("\n")).ok()
}

fn check_keys(given: &BackupConfig, at: &FieldCursor, report: &mut FindingSink) {
    match (given.recipients.is_empty(), given.with_plain_keys) {
        (true, false) => {
            let message = "without recipients, backups have no keys and are not encrypted: they can be restored only while the shoot's Secrets exist";
            report
                .warning(at, FindingKind::Required, CODE, message)
                .hint("list recipients that age-keygen prints, or set withPlainKeys to include the keys without encryption");
        }
        (false, true) => {
            let message = "cannot be set with recipients, which the keys are encrypted to";
            let at = &at.key("withPlainKeys");
            report.error(at, FindingKind::Forbidden, CODE, message);
        }
        _ => {}
    }
}

fn retention(given: Option<&BackupRetention>) -> RetentionPolicy {
    let given = given.cloned().unwrap_or_default();
    let number = |given: u32| usize::try_from(given).unwrap_or(usize::MAX);
    RetentionPolicy {
        last: number(given.last),
        hourly: number(given.hourly),
        daily: number(given.daily),
        weekly: number(given.weekly),
    }
}
