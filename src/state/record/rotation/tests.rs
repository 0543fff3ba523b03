use super::*;

fn all(completes: bool) -> RotationOperation {
    RotationOperation {
        credentials: Credential::ALL.into(),
        completes,
    }
}

/// Advances all rotations as far as they go by themselves.
fn advance(mut record: RotationRecord) -> RotationRecord {
    for credential in Credential::ALL {
        while let Some(from) = record.step(credential).filter(|it| it.is_active()) {
            let change = RotationChange::Advance { credential, from };
            record = record.after(&change, 20, None);
        }
    }
    record
}

#[test]
fn each_content_is_made_from_the_one_before() {
    for credential in Credential::ALL {
        let mut record = RotationRecord::default();
        let mut contents = vec![KeyGeneration::default()];
        for completes in [false, true, false, true] {
            let operation = RotationOperation {
                credentials: [credential].into(),
                completes,
            };
            record = record.after(&RotationChange::Command(operation), 10, None);
            contents.push(record.generation(credential.name()));
            while let Some(from) = record.step(credential).filter(|it| it.is_active()) {
                record = record.after(&RotationChange::Advance { credential, from }, 20, None);
                contents.push(record.generation(credential.name()));
            }
        }
        contents.dedup();
        assert_eq!(contents.len(), 7, "{credential}: {contents:?}");
        for pair in contents.windows(2) {
            assert_eq!(pair[1].before(), Some(pair[0]), "{credential}");
        }
    }
}

#[test]
fn a_rotation_that_is_under_way_is_not_started_again() {
    let start = RotationChange::Command(all(false));
    let once = RotationRecord::default().after(&start, 10, None);
    assert_eq!(once.after(&start, 11, None), once);
    let prepared = advance(once);
    assert_eq!(prepared.after(&start, 30, None), prepared);
    assert!(!prepared.is_due(&all(false)));
    assert!(prepared.is_due(&all(true)));
}

#[test]
fn only_what_is_prepared_is_completed() {
    let complete = RotationChange::Command(all(true));
    let none = RotationRecord::default();
    assert_eq!(none.after(&complete, 10, None), none);
    let refusal = none.refusal(&all(true)).expect("nothing was started");
    assert_eq!(refusal.to_string(), "no rotation of ca was started");
    let started = none.after(&RotationChange::Command(all(false)), 10, None);
    assert_eq!(started.after(&complete, 11, None), started);
    let refusal = started.refusal(&all(true)).expect("nothing is prepared");
    assert_eq!(
        refusal.to_string(),
        "the rotation of ca is still being prepared"
    );
    let prepared = advance(started);
    let completed = advance(prepared.after(&complete, 30, None));
    assert!(
        completed
            .rotations
            .values()
            .all(|it| it.completed == Some(20))
    );
    assert_eq!(completed.refusal(&all(true)), None);
    assert!(!completed.is_due(&all(true)));
}

#[test]
fn a_step_is_left_once() {
    let started = RotationRecord::default().after(&RotationChange::Command(all(false)), 10, None);
    let change = RotationChange::Advance {
        credential: Credential::Ca,
        from: RotationStep::Trust,
    };
    let next = started.after(&change, 11, None);
    assert_eq!(next.step(Credential::Ca), Some(RotationStep::Use));
    assert_eq!(next.after(&change, 12, None), next);
}

#[test]
fn operations_are_read_as_they_are_written() {
    for completes in [false, true] {
        let operation = all(completes);
        assert_eq!(
            RotationOperation::parse(&operation.to_string()),
            Some(operation)
        );
    }
    for text in ["", "start", "start:", "start:x", "begin:ca"] {
        assert_eq!(RotationOperation::parse(text), None, "{text}");
    }
    let gardener = |text| RotationOperation::of_gardener(text).map(|it| it.to_string());
    assert_eq!(
        gardener("rotate-etcd-encryption-key-start").as_deref(),
        Some("start:encryption-key")
    );
    assert_eq!(
        gardener("rotate-serviceaccount-key-complete").as_deref(),
        Some("complete:service-account-key")
    );
    assert_eq!(
        gardener("rotate-ca-start").as_deref(),
        Some("start:ca,etcd-ca")
    );
    assert_eq!(
        gardener("rotate-credentials-complete"),
        Some(all(true).to_string())
    );
    for text in [
        "retry",
        "rotate-ssh-keypair",
        "rotate-ca",
        "rotate-observability-start",
        "rotate-serviceaccount-key",
        "-start",
    ] {
        assert_eq!(gardener(text), None, "{text}");
    }
}

#[test]
fn the_record_is_read_as_it_is_written() {
    let started = RotationRecord::default().after(&RotationChange::Manifest(all(false)), 10, None);
    let text = serde_json::to_string(&started).expect("numbers and text");
    assert_eq!(
        serde_json::from_str::<RotationRecord>(&text).expect("the same"),
        started
    );
}

/// What is trusted and what signs where a Secret has a content.
fn trusted_and_signer(generation: KeyGeneration) -> (Vec<u32>, u32) {
    let newest = generation.number;
    match generation.content {
        KeyContent::Alone => (vec![newest], newest),
        KeyContent::Announced => (vec![newest - 1, newest], newest - 1),
        KeyContent::Leading => (vec![newest - 1, newest], newest),
    }
}

/// While a step is being carried out, each server has the content before it or after it: each trusts what any signs.
fn get_along(one: KeyGeneration, other: KeyGeneration) -> bool {
    let ((trusted, signer), (others, other_signer)) =
        (trusted_and_signer(one), trusted_and_signer(other));
    trusted.contains(&other_signer) && others.contains(&signer)
}

#[test]
fn servers_of_neighbouring_steps_trust_each_other() {
    let at = |number, content| KeyGeneration { number, content };
    let row = [
        at(0, KeyContent::Alone),
        at(1, KeyContent::Announced),
        at(1, KeyContent::Leading),
        at(1, KeyContent::Alone),
        at(2, KeyContent::Announced),
    ];
    assert!(row.windows(2).all(|it| get_along(it[0], it[1])));
    // A rotation that leaves out a step is noticed.
    assert!(!get_along(row[0], row[2]));
    assert!(!get_along(row[0], row[3]));
    assert!(!get_along(row[1], row[3]));
}

#[test]
fn system_pods_are_restarted_when_only_the_new_key_signs_and_never_again() {
    let credential = Credential::ServiceAccountKey;
    let mut record = RotationRecord::default();
    let mut seen = vec![record.token_generation()];
    for completes in [false, true, false, true] {
        let operation = RotationOperation {
            credentials: [credential].into(),
            completes,
        };
        record = record.after(&RotationChange::Command(operation), 10, None);
        seen.push(record.token_generation());
        while let Some(from) = record.step(credential).filter(|it| it.is_active()) {
            record = record.after(&RotationChange::Advance { credential, from }, 20, None);
            let number = record.token_generation();
            if seen.last() != Some(&number) {
                assert_eq!(record.step(credential), Some(RotationStep::Restart));
            }
            seen.push(number);
        }
    }
    seen.dedup();
    assert_eq!(seen, [None, Some(1), Some(2)]);
}

#[test]
fn machines_have_a_new_ca_from_the_step_in_which_it_signs() {
    let start = RotationOperation {
        credentials: [Credential::Ca].into(),
        completes: false,
    };
    let complete = RotationOperation {
        completes: true,
        ..start.clone()
    };
    let mut record = RotationRecord::default();
    let mut seen = vec![(record.machine_roots().to_string(), None)];
    for time in 1..12 {
        let step = record.step(Credential::Ca);
        let change = match step {
            None => RotationChange::Command(start.clone()),
            Some(RotationStep::Prepared) => RotationChange::Command(complete.clone()),
            Some(from) => RotationChange::Advance {
                credential: Credential::Ca,
                from,
            },
        };
        record = record.after(&change, time, None);
        let since = record.rotations[&Credential::Ca].since;
        seen.push((record.machine_roots().to_string(), since));
        let former = record.former_machine_roots().map(|it| it.to_string());
        let roots: Vec<&str> = seen.iter().map(|it| &*it.0).collect();
        let last = roots.iter().rev().find(|it| Some(*it) != roots.last());
        assert_eq!(former.as_deref(), last.copied());
    }
    seen.dedup_by_key(|it| it.0.clone());
    let expected = [
        ("0/alone", None),
        ("1/leading", Some(2)),
        ("1/alone", Some(5)),
    ];
    assert_eq!(
        seen,
        expected.map(|(roots, since)| (roots.to_owned(), since))
    );
}
