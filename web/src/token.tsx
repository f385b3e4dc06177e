// Where the server wants a token: it is kept for this tab, until that is closed.

import { useEffect, useRef, useState } from "preact/hooks";

const UNKNOWN = 401;

export function TokenForm(props: {
  tried: boolean;
  status: number;
  why: string;
  send: (token: string) => void;
}) {
  const [token, setToken] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <main class="gate">
      <form
        class="card"
        onSubmit={(e) => {
          e.preventDefault();
          if (token) props.send(token);
        }}
      >
        <h1>This coordinator wants a token</h1>
        <p class="quiet">
          A job's token shows that job; the administrator's shows everything. It stays in this tab
          and is forgotten with it.
        </p>
        <label for="token">Token</label>
        <input
          id="token"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          aria-invalid={props.tried}
          aria-describedby={props.tried ? "token-why" : undefined}
          onInput={(e) => setToken(e.currentTarget.value)}
        />
        {props.tried && (
          <p id="token-why" class="wrong" role="alert">
            {props.status === UNKNOWN
              ? "The coordinator does not know this token."
              : `It was refused: ${props.why}.`}
          </p>
        )}
        <button type="submit" class="primary" disabled={!token}>
          Show the coordinator
        </button>
      </form>
    </main>
  );
}
