//! Virtual machines of a sandbox.

use crate::render::images::default_image;
use crate::sandbox::{
    self, Dirs, GUEST_COMPONENTS, GuestFiles, Guests, KUBERNETES_VERSION, SandboxError, Step,
};
use std::str::FromStr;

/// How machines of a sandbox run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuestChoice {
    /// All machines are simulated.
    Simulated,
    Virtual {
        accelerator: Accelerator,
        /// The largest number of virtual machines.
        count: Option<u16>,
    },
}

/// How the processor of a virtual machine works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accelerator {
    /// KVM if this computer has it, and otherwise emulation.
    Auto,
    Kvm,
    Emulation,
}

impl FromStr for GuestChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = |accelerator| Self::Virtual {
            accelerator,
            count: None,
        };
        match text {
            "none" => Ok(Self::Simulated),
            "auto" => Ok(all(Accelerator::Auto)),
            "kvm" => Ok(all(Accelerator::Kvm)),
            "emulate" => Ok(all(Accelerator::Emulation)),
            number => match number.parse() {
                Ok(count @ 1..=99) => Ok(Self::Virtual {
                    accelerator: Accelerator::Auto,
                    count: Some(count),
                }),
                _ => Err("expected auto, kvm, emulate, none, or a number from 1 to 99".to_owned()),
            },
        }
    }
}

impl GuestChoice {
    /// Installs what virtual machines need.
    pub(super) fn prepare(
        self,
        dirs: &Dirs,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Option<Guests>, SandboxError> {
        let Self::Virtual { accelerator, count } = self else {
            return Ok(None);
        };
        let obstacle = sandbox::kvm_obstacle();
        let kvm = match (accelerator, obstacle) {
            (Accelerator::Kvm, Some(obstacle)) => return Err(SandboxError::NoKvm(obstacle)),
            (Accelerator::Emulation, _) | (Accelerator::Auto, Some(_)) => false,
            (_, None) => true,
        };
        Ok(Some(Guests {
            files: install(dirs, progress)?,
            count: count.unwrap_or_else(processors),
            kvm,
        }))
    }
}

/// One virtual machine for each processor: more would only wait for each other.
fn processors() -> u16 {
    let count = std::thread::available_parallelism().map_or(1, |it| it.get());
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Installs the files for virtual machines.
pub(super) fn install(
    dirs: &Dirs,
    progress: &mut dyn FnMut(Step),
) -> Result<GuestFiles, SandboxError> {
    let image = |component| (component, default_image(KUBERNETES_VERSION, component));
    let images = GUEST_COMPONENTS.into_iter().map(image).collect();
    sandbox::install_guests(dirs, &images, progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_chosen_by_a_word_or_a_number() {
        assert_eq!("none".parse(), Ok(GuestChoice::Simulated));
        let two = GuestChoice::Virtual {
            accelerator: Accelerator::Auto,
            count: Some(2),
        };
        assert_eq!("2".parse(), Ok(two));
        for wrong in ["", "0", "100", "-1", "yes", "kvm,2"] {
            let error = wrong.parse::<GuestChoice>().expect_err(wrong);
            assert!(error.starts_with("expected auto, kvm"), "{error}");
        }
    }
}
