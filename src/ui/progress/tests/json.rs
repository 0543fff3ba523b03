use super::script::{at, failure, midway, start};
use crate::flow::EventKind;
use crate::ui::json_events::JsonEvents;
use crate::ui::tests::Written;
use crate::ui::tty_stream::Stream;
use crate::ui::{ErrorMessage, RunLabel, UiSettings};
use snapbox::{assert_data_eq, str};
use std::sync::Arc;

fn check(print: impl FnOnce(&JsonEvents)) -> String {
    let written = Written::default();
    let writer = Box::new(written.clone());
    let stream = Stream::new(writer, false, None, &UiSettings::default());
    let run = RunLabel {
        verb: "apply",
        id: "r1".to_owned(),
    };
    let log = JsonEvents::new(Arc::new(stream), run).at(|| jiff::Timestamp::UNIX_EPOCH);
    print(&log);
    written.text()
}

#[test]
fn every_event_is_one_line() {
    let printed = check(|log| {
        for event in [start(), midway(), failure()].concat() {
            log.event(&event);
        }
        log.event(&at(
            131.0,
            EventKind::ItemGone {
                id: "remove/u1".to_owned(),
                remains: false,
            },
        ));
        log.event(&at(131.0, EventKind::Interrupted));
        log.close(9);
    });
    assert_data_eq!(
        printed,
        str![[r#"
{"v":1,"type":"run.started","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","namespace":"ci","shoot":"dev","technical_id":"shoot--local--dev"}
{"v":1,"type":"progress","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","done":1,"total":6}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","id":"record","status":"done","title":"Record shoot dev"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","id":"network/tenant-a","status":"working","title":"Apply network tenant-a"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","id":"image/ubuntu","status":"working","title":"Import image ubuntu 24.04"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","id":"machine/worker/z1/1","status":"blocked","title":"Create a machine of pool worker in zone zone-1","why":"needs the image"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","id":"machine/worker/z2/1","status":"blocked","title":"Create a machine of pool worker in zone zone-2","why":"needs the image"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","id":"machine/worker/z3/1","status":"blocked","title":"Create a machine of pool worker in zone zone-3","why":"needs the image"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":400,"run":"r1","verb":"apply","id":"network/tenant-a","status":"done","title":"Apply network tenant-a"}
{"v":1,"type":"progress","ts":"1970-01-01T00:00:00Z","at_ms":400,"run":"r1","verb":"apply","done":2,"total":6}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":1000,"run":"r1","verb":"apply","id":"image/ubuntu","status":"waiting","title":"Import image ubuntu 24.04","why":"3% (0.1/2.4 GiB)"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":3000,"run":"r1","verb":"apply","id":"image/ubuntu","status":"waiting","title":"Import image ubuntu 24.04","why":"9% (0.2/2.4 GiB)"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":7000,"run":"r1","verb":"apply","id":"image/ubuntu","status":"waiting","title":"Import image ubuntu 24.04","why":"12% (0.3/2.4 GiB)"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":8000,"run":"r1","verb":"apply","id":"image/ubuntu","status":"waiting","title":"Import image ubuntu 24.04","why":"14% (0.3/2.4 GiB)"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":41000,"run":"r1","verb":"apply","id":"image/ubuntu","status":"done","title":"Import image ubuntu 24.04"}
{"v":1,"type":"progress","ts":"1970-01-01T00:00:00Z","at_ms":41000,"run":"r1","verb":"apply","done":3,"total":6}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":41100,"run":"r1","verb":"apply","id":"machine/worker/z1/1","status":"working","title":"Create machine shoot--local--dev-worker-z1-3fa2c-0 in zone zone-1"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":41100,"run":"r1","verb":"apply","id":"machine/worker/z2/1","status":"working","title":"Create machine shoot--local--dev-worker-z2-3fa2c-0 in zone zone-2"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":41100,"run":"r1","verb":"apply","id":"machine/worker/z3/1","status":"working","title":"Create machine shoot--local--dev-worker-z3-3fa2c-0 in zone zone-3"}
{"v":1,"type":"item.retried","ts":"1970-01-01T00:00:00Z","at_ms":41300,"run":"r1","verb":"apply","again_ms":2000,"cause":"the API server is busy (429)","id":"machine/worker/z2/1"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":42000,"run":"r1","verb":"apply","id":"machine/worker/z1/1","status":"waiting","title":"Start machine shoot--local--dev-worker-z1-3fa2c-0","why":"VirtualMachine shoot--local--dev-worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":43500,"run":"r1","verb":"apply","id":"machine/worker/z2/1","status":"waiting","title":"Start machine shoot--local--dev-worker-z2-3fa2c-0","why":"the node has not joined"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":43600,"run":"r1","verb":"apply","id":"machine/worker/z3/1","status":"waiting","title":"Start machine shoot--local--dev-worker-z3-3fa2c-0","why":"the node has not joined"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":71000,"run":"r1","verb":"apply","id":"machine/worker/z2/1","status":"done","title":"Machine shoot--local--dev-worker-z2-3fa2c-0 runs"}
{"v":1,"type":"progress","ts":"1970-01-01T00:00:00Z","at_ms":71000,"run":"r1","verb":"apply","done":4,"total":6}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":130000,"run":"r1","verb":"apply","id":"machine/worker/z1/1","status":"failed","title":"Start machine shoot--local--dev-worker-z1-3fa2c-0","why":"VirtualMachine shoot--local--dev-worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner"}
{"v":1,"type":"item.changed","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply","id":"machine/worker/z3/1","status":"done","title":"Machine shoot--local--dev-worker-z3-3fa2c-0 runs"}
{"v":1,"type":"progress","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply","done":5,"total":6}
{"v":1,"type":"item.gone","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply","id":"remove/u1"}
{"v":1,"type":"run.interrupted","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply"}
{"v":1,"type":"run.finished","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply","exit_code":9,"outcome":"failed","resume":"kvshoot apply -f shoot.yaml","summary":"Failed after 2m11s: start machine shoot--local--dev-worker-z1-3fa2c-0: DataVolume is Pending"}

"#]]
    );
}

#[test]
fn run_finished_is_last_and_printed_once_even_without_a_run() {
    let printed = check(|log| {
        log.note("warning", "dns is ignored");
        log.fail(ErrorMessage {
            message: "2 problems in shoot.yaml",
            causes: &[],
            hints: &["kvshoot explain shoot.spec".to_owned()],
        });
        log.close(3);
        log.panicked(70, "too late");
        log.close(3);
    });
    assert_data_eq!(
        printed,
        str![[r#"
{"v":1,"type":"note","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","level":"warning","text":"dns is ignored"}
{"v":1,"type":"run.finished","ts":"1970-01-01T00:00:00Z","at_ms":0,"run":"r1","verb":"apply","error":{"causes":[],"hints":["kvshoot explain shoot.spec"],"message":"2 problems in shoot.yaml"},"exit_code":3,"outcome":"refused","summary":"2 problems in shoot.yaml"}

"#]]
    );
}

#[test]
fn notes_after_the_run_precede_its_final_event() {
    let printed = check(|log| {
        log.event(&failure().pop().unwrap());
        log.note("info", "the kubeconfig is kept");
        log.close(9);
    });
    assert_data_eq!(
        printed,
        str![[r#"
{"v":1,"type":"note","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply","level":"info","text":"the kubeconfig is kept"}
{"v":1,"type":"run.finished","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply","exit_code":9,"outcome":"failed","resume":"kvshoot apply -f shoot.yaml","summary":"Failed after 2m11s: start machine shoot--local--dev-worker-z1-3fa2c-0: DataVolume is Pending"}

"#]]
    );
}

#[test]
fn a_panic_replaces_the_final_event() {
    let printed = check(|log| {
        log.event(&failure().pop().unwrap());
        assert!(log.panicked(70, "bug in kvshoot: boom (src/x.rs:1)"));
    });
    assert_data_eq!(
        printed,
        str![[r#"
{"v":1,"type":"run.finished","ts":"1970-01-01T00:00:00Z","at_ms":131000,"run":"r1","verb":"apply","error":{"causes":[],"hints":[],"message":"bug in kvshoot: boom (src/x.rs:1)"},"exit_code":70,"outcome":"refused","summary":"bug in kvshoot: boom (src/x.rs:1)"}

"#]]
    );
}
