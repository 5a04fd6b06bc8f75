//! Time lines of what was observed, for the fixed records.

use model::{SeriesFigure, SeriesObserved};

/// The same in each of the five seconds; the others were looked at once, and two threads twice.
pub(crate) fn series(cores: f64) -> Vec<SeriesObserved> {
    let of = |figure, of: &str, values: &[Option<f64>]| SeriesObserved {
        figure,
        of: of.to_owned(),
        values: values.iter().map(|value| value.map(|value| value as f32)).collect(),
    };
    let steady = |figure, name: &str, value| of(figure, name, &[Some(value); 5]);
    use SeriesFigure::{
        AcceptQueue, CpuCores, PssBytes, ReceivedBytesPerS, RssBytes, SentBytesPerS, Sockets, ThreadBusy,
    };
    vec![
        steady(CpuCores, SeriesObserved::GENERATOR, 0.6),
        of(CpuCores, SeriesObserved::OTHERS, &[Some(0.12), Some(0.12)]),
        steady(CpuCores, SeriesObserved::INTERRUPTS, 5.0),
        steady(CpuCores, "mariadbd: mariadbd", 0.04),
        steady(CpuCores, "server: nginx", cores * 0.75),
        steady(CpuCores, "server: php-fpm", cores * 0.25),
        steady(ThreadBusy, "load generator: load-0", 0.5),
        of(ThreadBusy, "nginx (72)", &[Some(0.9), Some(0.9), None, Some(0.2)]),
        steady(RssBytes, "server: nginx", 12_000_000.0),
        steady(PssBytes, "server: nginx", 9_000_000.0),
        steady(Sockets, "established", 64.0),
        of(Sockets, "time_wait", &[None, None, Some(5.0), Some(3.0)]),
        steady(AcceptQueue, "", 0.0),
        steady(ReceivedBytesPerS, "eth0", 4_000.0),
        steady(SentBytesPerS, "eth0", 30_000.0),
        steady(SentBytesPerS, "lo", 1_000_000.0),
        steady(SentBytesPerS, "idle0", 0.0),
    ]
}
