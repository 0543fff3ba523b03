//! The message before a snapshot that one member of etcd sends to another: `raftpb.Message` of etcd's raft.

/// `MsgSnap` of `raftpb.MessageType`.
const SNAPSHOT: u64 = 7;
/// ID of no member: etcd stores the snapshot, and refuses to apply it to itself.
const NOBODY: u64 = 1;

/// The message with its length in front. The receiver stores what follows as the snapshot with this number.
pub(super) fn snapshot_message(number: u64) -> Vec<u8> {
    // Snapshot.metadata.index; the data are in the file.
    let metadata = field(2, number);
    let snapshot = nested(2, &metadata);
    let message = [
        field(1, SNAPSHOT),
        field(2, NOBODY),
        field(3, NOBODY),
        nested(9, &snapshot),
    ]
    .concat();
    let length = message.len() as u64;
    [length.to_be_bytes().as_slice(), &message].concat()
}

/// A field with an integer.
fn field(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

/// A field with a message.
fn nested(number: u64, message: &[u8]) -> Vec<u8> {
    let head = varint(number << 3 | 2);
    [head, varint(message.len() as u64), message.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_bytes_of_its_protocol_buffer() {
        // Type 7, to 1, from 1, and a snapshot with metadata of index 300.
        let message = [
            0x08, 0x07, 0x10, 0x01, 0x18, 0x01, 0x4a, 0x05, 0x12, 0x03, 0x10, 0xac, 0x02,
        ];
        let expected = [&[0, 0, 0, 0, 0, 0, 0, 13], message.as_slice()].concat();
        assert_eq!(snapshot_message(300), expected);
        assert_eq!(varint(u64::MAX).len(), 10);
    }
}
