//! The vocabulary of plimsoll: everything that is said between its parts or written down.
//!
//! Plain data with units in the names. No logic beyond parsing units, printing them ([`human`]) and replacing secrets
//! ([`Redacted`]), no I/O, no clock.
//! A shape that is written to disk carries a format version (see [`FORMAT_RUN`] and its like).

mod address;
mod agents;
mod arm_profile;
mod audit;
mod bandwidth;
pub mod bounding;
mod capacity;
mod catalogue;
mod check;
mod compare;
mod counts;
mod cpu_numbers;
mod disturbance;
mod duet;
mod effect;
mod environment;
mod event;
mod evidence;
mod experiment;
mod failure;
mod finding;
mod histogram;
mod history;
pub mod human;
mod limiter;
mod meant;
mod observation;
mod observed;
mod php;
mod plan;
mod plausible;
mod probe;
mod process;
mod profiled;
mod program;
mod quantile;
mod record;
mod redact;
mod render;
mod requests;
mod sample;
mod samples;
mod served;
mod session;
mod shape;
mod source;
mod status;
pub mod testing;
mod threshold;
mod units;
mod unmeasured;

pub use address::{Address, ParseAddressError};
pub use agents::{
    AGENTS_MAX, AgentEnd, AgentLoss, AgentRecord, AgentShare, AgentStart, AgentWindow, LostAgent, Segment,
};
pub use arm_profile::{ArmProfile, FunctionChange, FunctionUse};
pub use audit::{AuditConnections, AuditRecord, AuditsRecord, Claim};
pub use bandwidth::{Bandwidth, PROBE_CONNECTIONS_MAX, Throughput};
pub use capacity::{
    CapacityBracket, CapacityReason, CapacityRecord, CapacitySettings, CapacityTimes, ConditionRecord, MoreTime,
    TrialMade, TrialPurpose, TrialRecord,
};
pub use catalogue::{CatalogueRecord, FiringText, RuleCard, RuleText};
pub use check::{Burst, CheckRecord, CheckRow, CheckState, HttpTraits, Refusal, TargetCheck};
pub use compare::{
    ArmLoadRecord, ArmRecord, AtOnce, BlockRecord, COMPARE_ARMS_MAX, COMPARE_AT_ONCE, COMPARE_BLOCKS_MAX,
    COMPARE_WINDOWS_MAX, CompareCapacity, CompareEnd, CompareLoad, CompareMetric, CompareRecord, CompareSettings,
    CompareTimes, CompareTrialMade, CompareTrialRecord, CompareValues, FailIfRecord, FailIfState, FloorRecord,
    MetricRecord,
};
pub use counts::{Cohort, Counts, Fairness, Flow, Fruitless, MIX_TOLD_APART_MAX, MixCount, SentInAll};
pub use disturbance::{
    Basis, Cause, DISTURBANCE_RULES, Disturbance, SLICE_NS, STRETCHES_MAX, SliceAccount, SliceFlow, Stretch,
    WholeWindow, slice_of,
};
pub use duet::{Duet, DuetSet, OTHER_VARIANT, PositionRecord, load_threads};
pub use effect::{Call, Direction, Effect, EffectMethod, Floor, Precision};
pub use environment::{Change, Environment, Fingerprint, ServerHost};
pub use event::{Event, Phase, SENDS_MAX, Tick};
pub use evidence::{
    Connections, Evidence, Latencies, LatencySummary, Outstanding, SERVICE_BIN_NS, SERVICE_BINS, Second, SweepEvidence,
    SweepPoint, ThreadUse, TlsSession,
};
pub use experiment::{
    ExperimentBegun, ExperimentEvent, ExperimentPlan, ExperimentRecord, ExperimentRow, Layer, PlannedStep,
    PredictedRow, ProgramCpu, RowQuantiles, StepCapacity, StepRecord, StepResult,
};
pub use failure::{Failure, FailureKind, FailurePhase};
pub use finding::{Finding, FindingState, Verdict, VerdictState};
pub use histogram::{
    DecodeError, HIGHEST_NS, HistogramOf, Histograms, HistogramsOf, LatencyHistogram, MergedHistogram,
    SIGNIFICANT_DIGITS, WorkerHistograms,
};
pub use history::{
    Factor, HistoryChange, HistoryFigure, HistoryQuantity, HistoryRecord, HistoryRun, HistorySeries, HistorySettings,
    LeftOut,
};
pub use limiter::{
    Block, Confidence, Confirmation, ConfirmationOutcome, Control, Limiter, LimiterContext, NextLimiter, Prediction,
    Setting, Utilisation,
};
pub use meant::{alike, meant};
pub use observation::{GroupObservation, Observation};
pub use observed::{
    ALL_ELSEWHERE, CpuShares, FULL_PIPE, GaugeObserved, GeneratorObserved, MachineObserved, NOT_OBSERVED, Observed,
    ObservedSecond, OtherObserved, OthersObserved, PoolObserved, STOPPED, SamplerObserved, SeriesFigure,
    SeriesObserved, ServerObserved, ServerThreadObserved, SocketsObserved, ThreadObserved, WaitObserved,
};
pub use php::{PhpClock, PhpFunction, PhpProfiled};
pub use plan::{
    Arrivals, BODY_SAMPLE_EVERY, Contract, Load, Numbering, Plan, Protocol, Recording, Request, SizeBand, Stop, Target,
    TlsPlan, Turns, Warmup,
};
pub use plausible::Plausible;
pub use probe::{Body, Coded, Fetch, Probe};
pub use process::{
    ENDED_CHILDREN, Fold, OthersUse, PROCESS_FIGURES, ProcessFigure, ProcessFigures, ProcessObserved, ProcessUse,
    ServerThread, ServerUse, ThreadsUse, add_processes,
};
pub use profiled::{ProcessRole, ProfileRecord, Profiled, ProfiledFunction, ProfiledProcess};
pub use program::{KNOWN_PROGRAMS, KnownProgram, known_program};
pub use quantile::Quantile;
pub use record::{
    Bytes, Capacity, Estimate, Generator, Knee, LatencyRecord, Peak, PointSummary, PoolFit, QUANTILE_TAIL_MIN,
    Quantiles, RestsOn, RiseEnd, RunRecord, SweepRecord, SweepsRecord, is_quantile_known,
};
pub use redact::{Redact, Redacted, count_secrets, names_secret};
pub use render::{
    Browser, CacheState, PageFailure, PageFailureKind, PageLoad, RenderArm, RenderEffect, RenderFigure, RenderMetric,
    RenderRecord, RenderSettings,
};
pub use requests::{MixRecord, Requests};
pub use sample::{
    CpuTimes, Figures, GeneratorUse, KernelFigures, LISTENER_DROPS, MachineCpu, PoolUse, Sample, Scheduled, Sockets,
    StatesUse, ThreadRun, Wait,
};
pub use samples::{ProfileBegun, SampledCode, SampledProcess, SampledStack, SamplesAdded, SamplesBegun};
pub use served::{Served, Step};
pub use session::{Begun, MeasurementKind, SessionEvent};
pub use shape::{CurveModel, ModelAicc, Retrograde, UslLaw};
pub use source::SourceId;
pub use status::{Around, CountedRequests, Figure, LOGIN_REFUSED, ServerStatus, StatusLook, StatusRecord};
pub use threshold::{Aborted, Baseline, Bound, KnownFigure, ThresholdRecord, ThresholdState};
pub use units::{ByteSize, Count, Duration, ParseUnitError, Rate};

/// Format name and version of a run's `run.json`.
pub const FORMAT_RUN: &str = "plimsoll.run/1";
/// Format name and version of a sweep's `run.json`.
pub const FORMAT_SWEEP: &str = "plimsoll.sweep/1";
/// Format name and version of the `run.json` of several sweeps.
pub const FORMAT_SWEEPS: &str = "plimsoll.sweeps/1";
/// Format name and version of a capacity's `run.json`.
pub const FORMAT_CAPACITY: &str = "plimsoll.capacity/1";
/// Format name and version of a comparison's `run.json`.
pub const FORMAT_COMPARE: &str = "plimsoll.compare/1";
/// Format name and version of an experiment's `run.json`.
pub const FORMAT_EXPERIMENT: &str = "plimsoll.experiment/1";
/// Format name and version of an experiment's `plan.json`.
pub const FORMAT_PLAN: &str = "plimsoll.plan/1";
/// Format name and version of what `check --json` prints.
pub const FORMAT_CHECK: &str = "plimsoll.check/1";
/// Format name and version of what `history --json` prints.
pub const FORMAT_HISTORY: &str = "plimsoll.history/1";
/// Format name and version of what `render --json` prints.
pub const FORMAT_RENDER: &str = "plimsoll.render/1";
/// Format name and version of a `profile.json`.
pub const FORMAT_PROFILE: &str = "plimsoll.profile/1";
/// Format name and version of a `profile.samples`.
pub const FORMAT_SAMPLES: &str = "plimsoll.samples/1";
/// Format name and version of each line that `observe --json` prints.
pub const FORMAT_OBSERVE: &str = "plimsoll.observe/1";
/// Format name and version of what `audit --json` prints of one output.
pub const FORMAT_AUDIT: &str = "plimsoll.audit/1";
/// Format name and version of what `audit --json` prints of several outputs.
pub const FORMAT_AUDITS: &str = "plimsoll.audits/1";
/// Format name and version of what `rules --json` prints.
pub const FORMAT_RULES: &str = "plimsoll.rules/2";
/// Nanoseconds in one second.
pub const NS_PER_S: u64 = 1_000_000_000;
