//! Requests and commands of the servers that run on every node.

use super::objects::HTTP_PORT;
use super::outcome::{CheckFailure, quoted};
use super::testbed::{Agent, Testbed};
use serde_json::Value;

/// A server that an [`Agent`] asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    /// Name or IP address.
    pub(super) host: &'a str,
    pub(super) port: u16,
    /// `http` or `udp`.
    pub(super) protocol: &'static str,
}

impl Target<'_> {
    pub(super) fn http(host: &str, port: u16) -> Target<'_> {
        Target {
            host,
            port,
            protocol: "http",
        }
    }
}

/// Responses to the requests of an [`Agent`].
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) responses: Vec<String>,
    pub(super) errors: Vec<String>,
}

impl Answers {
    /// The responses.
    ///
    /// # Errors
    ///
    /// One request failed.
    pub(super) fn all(self) -> Result<Vec<String>, CheckFailure> {
        match self.errors.into_iter().next() {
            Some(error) => Err(CheckFailure(error)),
            None => Ok(self.responses),
        }
    }
}

impl Testbed {
    /// The first server.
    pub(super) fn agent(&self) -> Result<&Agent, CheckFailure> {
        let first = self.agents.first();
        first.ok_or_else(|| CheckFailure("no node runs pods".to_owned()))
    }

    /// Has a server send `tries` requests, one after another.
    pub(super) async fn ask(
        &self,
        agent: &Agent,
        target: Target<'_>,
        request: &str,
        tries: u32,
    ) -> Result<Answers, CheckFailure> {
        let (port, number) = (target.port.to_string(), tries.to_string());
        let query = [
            ("host", target.host),
            ("port", &port),
            ("protocol", target.protocol),
            ("request", request),
            ("tries", &number),
        ];
        let answer = self.page(agent, "dial", &query).await?;
        let texts = |key: &str| {
            let texts = answer[key].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut answers = Answers {
            responses: texts("responses"),
            errors: texts("errors"),
        };
        // The server ignores an error within a response, and leaves out all responses if the last one is empty.
        answers.responses.retain(|it: &String| !it.is_empty());
        let number = answers.responses.len() + answers.errors.len();
        if number < tries as usize {
            answers.errors.push("a response is empty".to_owned());
        }
        Ok(answers)
    }

    /// Runs a command in the container of a server, and returns its output.
    pub(super) async fn shell(&self, agent: &Agent, command: &str) -> Result<String, CheckFailure> {
        let answer = self.page(agent, "shell", &[("cmd", command)]).await?;
        let output = answer["output"].as_str().unwrap_or_default().trim();
        match answer["error"].as_str() {
            None => Ok(output.to_owned()),
            Some(error) => {
                let text = quoted(output);
                Err(CheckFailure(format!("`{command}`: {error}: {text}")))
            }
        }
    }

    async fn page(
        &self,
        agent: &Agent,
        page: &str,
        query: &[(&str, &str)],
    ) -> Result<Value, CheckFailure> {
        let answer =
            self.shoot
                .get_from_pod(&agent.pod, HTTP_PORT, page, query, self.answer_limit());
        Ok(answer.await?)
    }
}
