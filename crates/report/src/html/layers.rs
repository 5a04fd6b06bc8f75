//! CPU time in layers, one for each program: what they add up to is what the machine was busy with.

use super::chart::{COLOURS, Curve, GREY, layer, thin};
use super::timeline::{Named, to_digits};
use model::SeriesObserved;
use plotly::common::{DashType, Line};

/// Processes with a layer of their own; those beyond share one.
const PROCESSES_MAX: usize = 5;
const PROCESS_COLOURS: [&str; PROCESSES_MAX] = [COLOURS[0], COLOURS[4], COLOURS[2], COLOURS[3], COLOURS[1]];
const FURTHER: (&str, &str) = ("further processes", "#7d6b91");
/// How the names of the server's own processes begin.
const SERVER: &str = "server: ";
const GENERATOR: &str = COLOURS[5];
const OTHERS: &str = "#8c6d46";
/// The colour of Okabe and Ito that is left: too pale for a line.
const INTERRUPTS: &str = "#f0e442";
const REST: (&str, &str) = ("rest", "#c3c8d0");
/// CPUs below which all along a layer that is no process is only a name more.
const HARDLY_CPUS: f64 = 0.01;

/// CPUs kept busy, in each place of a chart.
pub(super) struct Layers<'a> {
    /// The places.
    pub(super) x: Vec<f64>,
    /// All CPUs of the machine together.
    pub(super) machine: Vec<Option<f64>>,
    /// Processes, the load generator, all others and interrupts.
    pub(super) named: Vec<Named<'a>>,
}

impl Layers<'_> {
    /// The layers from the axis upwards, and what the machine says of itself; empty when nothing is known of anyone.
    pub(super) fn curves(&self) -> Vec<Curve> {
        if self.named.is_empty() {
            return Vec::new();
        }
        let mut sum = vec![0.0; self.x.len()];
        let mut curves = processes(&self.x, &self.named, &mut sum);
        let mut add = |name: &str, colour, values: Vec<f64>| {
            if values.iter().any(|cpus| *cpus >= HARDLY_CPUS) {
                sum.iter_mut().zip(&values).for_each(|(sum, cpus)| *sum += cpus);
                curves.push(self.layer(name, colour, values));
            }
            self.left(&sum)
        };
        add(SeriesObserved::GENERATOR, GENERATOR, self.of(SeriesObserved::GENERATOR));
        let left = add(SeriesObserved::OTHERS, OTHERS, self.of(SeriesObserved::OTHERS));
        // As far as they are not within the time of those that they have interrupted.
        let interrupts = self.of(SeriesObserved::INTERRUPTS).into_iter().zip(left).map(|(cpus, left)| cpus.min(left));
        let left = add(SeriesObserved::INTERRUPTS, INTERRUPTS, interrupts.collect());
        add(REST.0, REST.1, left);
        let (x, y): (Vec<f64>, Vec<f64>) =
            self.x.iter().zip(&self.machine).filter_map(|(x, y)| Some((*x, (*y)?))).unzip();
        if !x.is_empty() {
            let dashed = Line::new().color(GREY).width(1.5).dash(DashType::Dash);
            curves.push(thin("machine", GREY, x, y).line(dashed));
        }
        curves
    }

    fn layer(&self, name: &str, colour: &'static str, values: Vec<f64>) -> Curve {
        layer(name, colour, self.x.clone(), values.into_iter().map(to_digits).collect())
    }

    /// What is not known adds nothing, and is part of the rest.
    fn of(&self, name: &str) -> Vec<f64> {
        let found = self.named.iter().find(|(of, _)| *of == name);
        found.map_or_else(|| vec![0.0; self.x.len()], |(_, values)| known(values))
    }

    /// What the machine was busy with beyond `sum`.
    fn left(&self, sum: &[f64]) -> Vec<f64> {
        let machine = self.machine.iter().zip(sum);
        machine.map(|(machine, sum)| (machine.unwrap_or(0.0) - sum).max(0.0)).collect()
    }
}

/// A layer for each process, those of the server below the others and as they are ordered, and one for those that have no
/// colour; adds them to `sum`.
pub(super) fn processes(x: &[f64], named: &[Named<'_>], sum: &mut [f64]) -> Vec<Curve> {
    let mut further = vec![0.0; x.len()];
    let mut curves = Vec::new();
    let watched = named.iter().filter(|(name, _)| !SeriesObserved::NOT_WATCHED.contains(name));
    let (server, others): (Vec<_>, Vec<_>) = watched.partition(|(name, _)| name.starts_with(SERVER));
    for (i, (name, values)) in server.into_iter().chain(others).enumerate() {
        let values = known(values);
        sum.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
        match PROCESS_COLOURS.get(i) {
            Some(colour) => curves.push(layer(name, colour, x.to_vec(), values)),
            None => further.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value),
        }
    }
    if further.iter().any(|value| *value > 0.0) {
        curves.push(layer(FURTHER.0, FURTHER.1, x.to_vec(), further.into_iter().map(to_digits).collect()));
    }
    curves
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().map(|value| value.unwrap_or(0.0)).collect()
}
