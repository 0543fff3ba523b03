//! Quantities.

use super::macros::formatted;

/// A quantity such as `20Gi` or `1500m`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Quantity {
    text: String,
    pub(crate) value: f64,
}

/// The largest amount that Kubernetes can represent, 2^63.
const LARGEST: f64 = 9_223_372_036_854_775_808.0;

formatted!(
    Quantity,
    "quantity",
    ["string", "number"],
    "An amount with an optional suffix, such as 500m, 2 or 20Gi"
);

impl Quantity {
    /// The quantity as written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const SUFFIXES: [(&str, f64); 14] = [
            ("Ki", 1024.0),
            ("Mi", 1_048_576.0),
            ("Gi", 1_073_741_824.0),
            ("Ti", 1_099_511_627_776.0),
            ("Pi", 1_125_899_906_842_624.0),
            ("Ei", 1_152_921_504_606_846_976.0),
            ("m", 1e-3),
            ("k", 1e3),
            ("M", 1e6),
            ("G", 1e9),
            ("T", 1e12),
            ("P", 1e15),
            ("n", 1e-9),
            ("u", 1e-6),
        ];
        let (digits, factor) = SUFFIXES
            .iter()
            .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))
            .unwrap_or((text, 1.0));
        let is_number = digits
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
        let value: f64 =
            digits.parse().ok().filter(|_| is_number).ok_or_else(|| {
                format!("{text:?} is not a valid quantity, such as 500m, 2 or 20Gi")
            })?;
        let value = value * factor;
        if value.abs() > LARGEST {
            return Err(format!("{text:?} is too large"));
        }
        Ok(Self {
            text: text.to_owned(),
            value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_finite_and_fit_into_64_bits() {
        for (text, value) in [
            ("8Ei", 9.223_372_036_854_776e18),
            ("1e3", 1000.0),
            ("-1.5k", -1500.0),
        ] {
            assert_eq!(
                Quantity::parse(text).map(|it| it.value),
                Ok(value),
                "{text}"
            );
        }
        for text in ["1e999", "9Ei", "-1e30", "9300P"] {
            assert_eq!(Quantity::parse(text), Err(format!("{text:?} is too large")));
        }
        for text in ["", "Gi", "1,5", "1 Gi", "0x1", ".inf", "nan", "1e", "--1"] {
            Quantity::parse(text).expect_err(text);
        }
    }
}
