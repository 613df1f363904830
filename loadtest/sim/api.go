package sim

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// routes is the table of what the engine serves.
func (e *Engine) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", e.guard(e.chat))
	mux.HandleFunc("POST /v1/completions", e.guard(e.completions))
	mux.HandleFunc("GET /v1/models", e.guard(e.models))
	mux.HandleFunc("GET /health", e.health)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": e.cfg.Version})
	})
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": e.cfg.Version, "flags": e.cfg.Flags})
	})
	mux.Handle("GET /metrics", e.metricsPage())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
	})
	return mux
}

// guard refuses what comes while the engine loads or without the key.
func (e *Engine) guard(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if text := e.unready(); text != "" {
			fail(w, http.StatusServiceUnavailable, text)
			return
		}
		key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if e.cfg.APIKey != "" && (!bearer || subtle.ConstantTimeCompare([]byte(key), []byte(e.cfg.APIKey)) != 1) {
			fail(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		next(w, r)
	}
}

// unready says why the engine cannot serve now; "" where it can.
func (e *Engine) unready() string {
	select {
	case <-e.stop:
		return "The engine has stopped"
	default:
	}
	if left := e.cfg.StartupTime - e.now(); left > 0 {
		return "The model is loading"
	}
	return ""
}

func (e *Engine) health(w http.ResponseWriter, _ *http.Request) {
	if e.unready() != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (e *Engine) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data": []map[string]any{{
			"id": e.cfg.Model, "object": "model", "created": e.started.Unix(), "owned_by": "vllm",
			"root": e.cfg.Model, "parent": nil, "max_model_len": e.cfg.maxContext(),
		}},
	})
}

// apiError is the error object of vLLM's API.
type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

// errorBody wraps message as vLLM does, with the type that goes with status.
func errorBody(status int, message string) map[string]apiError {
	kind := "BadRequestError"
	switch {
	case status == http.StatusNotFound:
		kind = "NotFoundError"
	case status == http.StatusUnauthorized:
		kind = "AuthenticationError"
	case status == http.StatusTooManyRequests:
		kind = "RateLimitError"
	case status == http.StatusServiceUnavailable:
		kind = "ServiceUnavailableError"
	case status >= 500:
		kind = "InternalServerError"
	}
	return map[string]apiError{"error": {Message: message, Type: kind, Code: status}}
}

func fail(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, errorBody(status, message))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode answer: %v", err)) // plain values of our own
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// reset breaks the connection off as a dying process does.
func reset(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // close sends RST
		}
		_ = conn.Close()
		return
	}
	panic(http.ErrAbortHandler)
}
