//! Whether steps lead in circles.

/// How many of the places lie on a circle, or behind one. Takes away what nothing leads to, until nothing is left.
pub(crate) fn count(places: usize, mut steps: Vec<(u32, u32)>) -> usize {
    let mut into = vec![0u32; places];
    let mut start = vec![0usize; places + 1];
    steps.sort_unstable();
    for (from, to) in &steps {
        into[*to as usize] += 1;
        start[*from as usize + 1] += 1;
    }
    for place in 0..places {
        start[place + 1] += start[place];
    }
    let mut open: Vec<usize> = (0..places).filter(|it| into[*it] == 0).collect();
    let mut left = places;
    while let Some(place) = open.pop() {
        left -= 1;
        for (_, to) in &steps[start[place]..start[place + 1]] {
            let to = *to as usize;
            into[to] -= 1;
            if into[to] == 0 {
                open.push(to);
            }
        }
    }
    left
}

#[test]
fn a_circle_is_told_from_two_ways_to_one_place() {
    assert_eq!(count(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]), 0);
    assert_eq!(count(4, vec![(0, 1), (1, 2), (2, 1), (2, 3)]), 3);
}
