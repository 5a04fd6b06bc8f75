//! Status pages over a window: what of each look is kept.

use model::{Figure, StatusLook, StatusRecord};

/// All pages, in the order first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatusSum {
    pages: Vec<StatusRecord>,
}

impl StatusSum {
    /// Takes looks of the measured window, in their order.
    pub(crate) fn add(&mut self, looks: &[StatusLook]) {
        for look in looks {
            let page = self.page(&look.url);
            if let Some(status) = &look.status {
                page.server = Some(status.server.clone());
                page.looks += 1;
                let looks = page.looks as f64;
                for (name, value) in &status.figures {
                    let fresh = Figure { first: *value, last: *value, min: *value, max: *value, mean: *value };
                    let figure = page.figures.entry(name.clone()).or_insert(fresh);
                    figure.last = *value;
                    figure.min = figure.min.min(*value);
                    figure.max = figure.max.max(*value);
                    figure.mean += (*value - figure.mean) / looks;
                }
            }
            if look.reason.is_some() {
                page.reason.clone_from(&look.reason);
            }
        }
    }

    /// Takes what another measurement of the same load has seen later.
    pub(crate) fn merge(&mut self, later: &Self) {
        for other in &later.pages {
            let page = self.page(&other.url);
            let (before, after) = (page.looks as f64, other.looks as f64);
            for (name, figure) in &other.figures {
                let own = page.figures.entry(name.clone()).or_insert(*figure);
                own.last = figure.last;
                own.min = own.min.min(figure.min);
                own.max = own.max.max(figure.max);
                own.mean = (own.mean * before + figure.mean * after) / (before + after).max(1.0);
            }
            page.looks += other.looks;
            page.server = page.server.take().or_else(|| other.server.clone());
            page.reason = other.reason.clone().or_else(|| page.reason.take());
        }
    }

    pub(crate) fn records(&self) -> Vec<StatusRecord> {
        self.pages.clone()
    }

    fn page(&mut self, url: &str) -> &mut StatusRecord {
        let at = self.pages.iter().position(|page| page.url == url).unwrap_or_else(|| {
            self.pages.push(StatusRecord { url: url.to_owned(), ..StatusRecord::default() });
            self.pages.len() - 1
        });
        &mut self.pages[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ServerStatus;

    fn look(busy: f64) -> StatusLook {
        let figures = [("busy".to_owned(), busy)].into();
        StatusLook { url: "u".into(), status: Some(ServerStatus { server: "s".into(), figures }), reason: None }
    }

    #[test]
    fn looks_of_one_page_become_one_record() {
        let mut sum = StatusSum::default();
        sum.add(&[look(2.0), look(8.0)]);
        sum.add(&[look(5.0), StatusLook { url: "u".into(), status: None, reason: Some("it hangs".into()) }]);
        let [page] = &sum.records()[..] else { panic!("one page") };
        assert_eq!((page.looks, page.server.as_deref(), page.reason.as_deref()), (3, Some("s"), Some("it hangs")));
        assert_eq!(page.figures["busy"], Figure { first: 2.0, last: 5.0, min: 2.0, max: 8.0, mean: 5.0 });
    }

    #[test]
    fn iterations_are_weighted_by_their_looks() {
        let (mut first, mut second) = (StatusSum::default(), StatusSum::default());
        first.add(&[look(1.0)]);
        second.add(&[look(4.0), look(4.0)]);
        first.merge(&second);
        let figure = first.records()[0].figures["busy"];
        assert_eq!(figure, Figure { first: 1.0, last: 4.0, min: 1.0, max: 4.0, mean: 3.0 });
    }
}
