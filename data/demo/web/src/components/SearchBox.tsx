import { useState } from "react";
import { isParcelNumber } from "../api";

/** Asks for a parcel number and refuses what cannot be one before the service is asked. */
export function SearchBox({ onSearch }: { onSearch: (number: string) => void }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");

  function submit(event: React.FormEvent) {
    event.preventDefault();
    if (!isParcelNumber(text)) {
      setProblem("A parcel number is PX and nine digits.");
      return;
    }
    setProblem("");
    onSearch(text.trim().toUpperCase());
  }

  return (
    <form onSubmit={submit}>
      <input value={text} onChange={(event) => setText(event.target.value)} aria-invalid={problem !== ""} />
      <button type="submit">Track</button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}
