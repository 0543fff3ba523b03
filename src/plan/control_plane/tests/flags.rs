//! The flags of programs, by version.
