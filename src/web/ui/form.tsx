import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes } from 'react';
import './form.css';

/** A form field with its label and hint. */
export function Field({
  label,
  hint,
  children,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the children contain the control.
    <label className="field">
      <span>{label}</span>
      {children}
      {hint !== undefined && hint !== '' && hint !== false && <small className="field-hint">{hint}</small>}
    </label>
  );
}

type TextProps = InputHTMLAttributes<HTMLInputElement> & { readonly label: string; readonly hint?: ReactNode };

export function TextField({ label, hint, ...rest }: TextProps) {
  return (
    <Field label={label} hint={hint}>
      <input className="input" dir="auto" autoComplete="off" {...rest} />
    </Field>
  );
}

type CheckProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> & { readonly label: string };

export function Check({ label, ...rest }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" {...rest} />
      <span>{label}</span>
    </label>
  );
}

type ChoiceProps<T extends string> = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> & {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Values with their labels, in display order. */
  readonly options: readonly (readonly [value: T, name: string])[];
  readonly onChoose?: (value: T) => void;
};

export function Choice<T extends string>({ label, hint, options, onChoose, ...rest }: ChoiceProps<T>) {
  return (
    <Field label={label} hint={hint}>
      <select className="input" {...rest} onChange={(event) => onChoose?.(event.currentTarget.value as T)}>
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** The reason why the service refused a request. Renders nothing if it is undefined. */
export function Refusal({ children }: { readonly children: string | undefined }) {
  if (children === undefined) return null;
  return (
    <p role="alert" className="refusal">
      {children}
    </p>
  );
}
