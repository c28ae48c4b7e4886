interface Props<P extends string> {
  /** The parts with their labels, in display order. */
  readonly parts: Readonly<Record<P, string>>;
  readonly shown: P;
  readonly onShow: (part: P) => void;
}

/** Row of buttons that select which part of a dialog is shown. */
export function Tabs<P extends string>({ parts, shown, onShow }: Props<P>) {
  return (
    <div className="tabs dialog-tabs">
      {(Object.keys(parts) as P[]).map((part) => (
        <button key={part} type="button" className="tab" aria-pressed={part === shown} onClick={() => onShow(part)}>
          {parts[part]}
        </button>
      ))}
    </div>
  );
}
