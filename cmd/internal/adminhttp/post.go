package adminhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// changeWait is how long a change may take: a broker waits for what comes of it.
const changeWait = time.Minute

// RefusedError is the broker's own reason why it changed nothing.
type RefusedError struct {
	Status int // of HTTP
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

// Post sends a body as JSON with the token of the broker, and reads the answer. What
// the broker refuses is a *RefusedError.
func Post[T any](ctx context.Context, address, path, token string, body any) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, base(address)+path, bytes.NewReader(text))
	if err != nil {
		return answer, fmt.Errorf("admin address %q: %w", address, err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return answer, reason(err)
	}
	defer r.Body.Close()
	page, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax))
	if err != nil {
		return answer, reason(err)
	}
	if r.StatusCode != http.StatusOK {
		var refused struct{ Error string }
		if json.Unmarshal(page, &refused) != nil || refused.Error == "" {
			return answer, fmt.Errorf("%s answers %s", q.URL, r.Status)
		}
		return answer, &RefusedError{r.StatusCode, refused.Error}
	}
	if err := json.Unmarshal(page, &answer); err != nil {
		return answer, fmt.Errorf("%s is no admin listener of a broker: %w", q.URL, err)
	}
	return answer, nil
}
