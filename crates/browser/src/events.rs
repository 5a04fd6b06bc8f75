//! Events of the protocol that say something of a load, with the fields that are read of them.
//!
//! Domains Page, Network, PerformanceTimeline, Target and Inspector of <https://chromedevtools.github.io/devtools-protocol/>.
//! Times named `timestamp` are seconds of the browser's monotonic clock.

use crate::messages::Message;
use crate::said::in_a_line;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An event.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    RequestSent(Box<RequestSent>),
    Answered(Box<Answered>),
    ServedFromCache(OfRequest),
    Data(Data),
    Finished(Finished),
    Failed(Failed),
    Lifecycle(Lifecycle),
    Navigated(Navigated),
    Painted(Painted),
    Attached(Attached),
    DialogOpened,
    Crashed,
    Other,
}

/// `Network.requestWillBeSent`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestSent {
    pub(crate) request_id: String,
    #[serde(default)]
    pub(crate) loader_id: String,
    #[serde(default)]
    pub(crate) frame_id: String,
    pub(crate) request: Request,
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
    /// The answer that led to this request.
    pub(crate) redirect_response: Option<Response>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) url: String,
}

/// `Network.responseReceived`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answered {
    pub(crate) request_id: String,
    pub(crate) response: Response,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Response {
    pub(crate) url: String,
    pub(crate) status: u16,
    /// Bytes so far.
    #[serde(default)]
    pub(crate) encoded_data_length: f64,
    #[serde(default)]
    pub(crate) from_disk_cache: bool,
    #[serde(default)]
    pub(crate) from_prefetch_cache: bool,
    #[serde(default)]
    pub(crate) from_service_worker: bool,
    pub(crate) timing: Option<Timing>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Timing {
    /// As a `timestamp`.
    pub(crate) request_time: f64,
    /// From then on; ms.
    pub(crate) receive_headers_start: Option<f64>,
    /// The same for the end of the header; older browsers have this alone.
    pub(crate) receive_headers_end: f64,
}

/// `Network.requestServedFromCache`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfRequest {
    pub(crate) request_id: String,
}

/// `Network.dataReceived`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Data {
    pub(crate) request_id: String,
    pub(crate) encoded_data_length: f64,
}

/// `Network.loadingFinished`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finished {
    pub(crate) request_id: String,
    /// All bytes of the request, headers and those of its redirects apart.
    pub(crate) encoded_data_length: f64,
}

/// `Network.loadingFailed`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failed {
    pub(crate) request_id: String,
    pub(crate) error_text: String,
    #[serde(default)]
    pub(crate) canceled: bool,
}

/// `Page.lifecycleEvent`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lifecycle {
    pub(crate) frame_id: String,
    pub(crate) loader_id: String,
    pub(crate) name: String,
    pub(crate) timestamp: f64,
}

/// `Page.frameNavigated`
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Navigated {
    pub(crate) frame: Frame,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) loader_id: String,
    pub(crate) url: String,
}

/// `PerformanceTimeline.timelineEventAdded`
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Painted {
    pub(crate) event: Paint,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Paint {
    pub(crate) frame_id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Seconds since 1970.
    pub(crate) time: f64,
}

/// `Target.attachedToTarget`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attached {
    pub(crate) session_id: String,
}

impl Event {
    /// Reads an event. Fails where the browser speaks another protocol: what is not understood must not look like a fast page.
    pub(crate) fn read(message: Message) -> Result<Self, String> {
        let Message { method, params, .. } = message;
        Ok(match method.as_str() {
            "Network.requestWillBeSent" => Self::RequestSent(facts(&method, params)?),
            "Network.responseReceived" => Self::Answered(facts(&method, params)?),
            "Network.requestServedFromCache" => Self::ServedFromCache(facts(&method, params)?),
            "Network.dataReceived" => Self::Data(facts(&method, params)?),
            "Network.loadingFinished" => Self::Finished(facts(&method, params)?),
            "Network.loadingFailed" => Self::Failed(facts(&method, params)?),
            "Page.lifecycleEvent" => Self::Lifecycle(facts(&method, params)?),
            "Page.frameNavigated" => Self::Navigated(facts(&method, params)?),
            "PerformanceTimeline.timelineEventAdded" => Self::Painted(facts(&method, params)?),
            "Target.attachedToTarget" => Self::Attached(facts(&method, params)?),
            "Page.javascriptDialogOpening" => Self::DialogOpened,
            "Inspector.targetCrashed" => Self::Crashed,
            _ => Self::Other,
        })
    }
}

fn facts<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, String> {
    let another = |error: serde_json::Error| in_a_line(&error.to_string());
    serde_json::from_value(params)
        .map_err(|error| format!("sent an event {method} that is another: {}", another(error)))
}
