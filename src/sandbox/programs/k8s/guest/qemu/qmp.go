package qemu

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

const answerTimeout = 10 * time.Second

// message is an answer or an event of qemu or of its guest agent.
type message struct {
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Desc string `json:"desc"`
	} `json:"error"`
	Event string `json:"event"`
}

// session is a connection to qemu's monitor or to the guest agent, which speak the same protocol.
type session struct {
	connection net.Conn
	lines      *bufio.Reader
}

func dial(socket string) (*session, error) {
	connection, err := net.DialTimeout("unix", socket, answerTimeout)
	if err != nil {
		return nil, err
	}
	_ = connection.SetDeadline(time.Now().Add(answerTimeout))
	return &session{connection, bufio.NewReader(connection)}, nil
}

func (s *session) close() { _ = s.connection.Close() }

// read returns the next message, into which the greeting of the monitor is read as an empty one.
func (s *session) read() (message, error) {
	var answer message
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(line, &answer)
}

// call runs a command and returns its result.
func (s *session) call(command string, arguments map[string]any) (json.RawMessage, error) {
	request := map[string]any{"execute": command}
	if len(arguments) > 0 {
		request["arguments"] = arguments
	}
	if err := json.NewEncoder(s.connection).Encode(request); err != nil {
		return nil, err
	}
	for {
		answer, err := s.read()
		switch {
		case err != nil:
			return nil, err
		case answer.Error != nil:
			return nil, fmt.Errorf("%s: %s", command, answer.Error.Desc)
		case answer.Return != nil:
			return answer.Return, nil
		case answer.Event == "":
			return nil, errors.New(command + ": the answer is not understood")
		}
	}
}

// runMonitor runs one command of qemu's monitor.
func runMonitor(socket, command string, arguments map[string]any) (json.RawMessage, error) {
	s, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if _, err := s.read(); err != nil {
		return nil, err
	}
	if _, err := s.call("qmp_capabilities", nil); err != nil {
		return nil, err
	}
	return s.call(command, arguments)
}

// OSInfo is what the guest agent says about the operating system.
type OSInfo struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	PrettyName    string `json:"pretty-name"`
	VersionID     string `json:"version-id"`
	KernelRelease string `json:"kernel-release"`
}

// agentOSInfo asks the guest agent. It fails until the agent runs.
func agentOSInfo(socket string) (*OSInfo, error) {
	s, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer s.close()
	// Answers of an earlier connection, which timed out, may still be on the wire.
	id := time.Now().UnixNano() & 0xffffffff
	request, err := json.Marshal(map[string]any{"execute": "guest-sync", "arguments": map[string]any{"id": id}})
	if err != nil {
		return nil, err
	}
	if _, err := s.connection.Write(append(request, '\n')); err != nil {
		return nil, err
	}
	for {
		answer, err := s.read()
		if err != nil {
			return nil, err
		}
		if string(answer.Return) == fmt.Sprint(id) {
			break
		}
	}
	text, err := s.call("guest-get-osinfo", nil)
	if err != nil {
		return nil, err
	}
	info := &OSInfo{}
	return info, json.Unmarshal(text, info)
}
