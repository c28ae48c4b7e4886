interface Props<P extends string> {
  /** Each part with what it is called, in their order. */
  readonly parts: Readonly<Record<P, string>>;
  readonly shown: P;
  readonly onShow: (part: P) => void;
}

/** Chooses which part of a dialog is shown. */
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
