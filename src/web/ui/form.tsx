import {
  type ComponentProps,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  useId,
  useImperativeHandle,
  useRef,
} from 'react';
import { Icon } from './icons.tsx';
import { Select, type SelectProps } from './select.tsx';
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

/** A part of a form, with a heading. */
export function FormSection({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const id = useId();
  return (
    <section className="form-section" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {children}
    </section>
  );
}

type TextProps = ComponentProps<'input'> & { readonly label: string; readonly hint?: ReactNode };

export function TextField({ label, hint, ...rest }: TextProps) {
  return (
    <Field label={label} hint={hint}>
      <input className="input" dir="auto" autoComplete="off" {...rest} />
    </Field>
  );
}

interface SearchProps {
  /** Accessible name of the field, shown while it is empty. */
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
  readonly className?: string;
}

/** A field that filters the list below it. */
export const SearchField = ({ label, value, onSearch, className = '' }: SearchProps) => (
  <div className={`search-field ${className}`}>
    <Icon name="search" size={16} />
    <input
      className="input"
      dir="auto"
      type="search"
      aria-label={label}
      placeholder={label}
      autoComplete="off"
      value={value}
      onChange={({ currentTarget }) => onSearch(currentTarget.value)}
    />
  </div>
);

/** Field for the viewer's password, which confirms a change that gives access. @param hint Sentence before the usual hint. */
export const PasswordField = ({ hint, ...rest }: Omit<TextProps, 'label' | 'hint'> & { readonly hint?: string }) => (
  <TextField
    label="Your current password"
    name="password"
    type="password"
    autoComplete="current-password"
    hint={`${hint === undefined ? '' : `${hint} `}Not required within ten minutes of signing in.`}
    {...rest}
  />
);

/**
 * Returns the input `currentPassword` of a mutation from the data of a form with a `PasswordField`. Empty if none was entered.
 */
export function passwordIn(data: FormData): { readonly currentPassword?: string } {
  const currentPassword = String(data.get('password') ?? '');
  return currentPassword === '' ? {} : { currentPassword };
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

/** Reference to a `Choice`, for its parent. */
export interface ChoiceHandle {
  /** Moves the focus to the control. */
  readonly focus: () => void;
}

interface ChoiceProps<T extends string> extends Omit<SelectProps<T>, 'id' | 'labelId' | 'describedBy'> {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly 'aria-describedby'?: string | undefined;
  readonly ref?: Ref<ChoiceHandle>;
}

/** A field with a fixed set of values. */
export function Choice<T extends string>({
  label,
  hint,
  'aria-describedby': describedBy,
  ref,
  ...rest
}: ChoiceProps<T>) {
  const id = useId();
  const control = useRef<HTMLDivElement>(null);
  const hasHint = hint !== undefined && hint !== '' && hint !== false;
  const ids = [describedBy, hasHint ? `${id}-hint` : undefined].filter((one) => one !== undefined);
  // A click on the label focuses the control without opening its list, as native select boxes do.
  const focus = () => control.current?.querySelector<HTMLElement>('[aria-labelledby]')?.focus();
  useImperativeHandle(ref, () => ({ focus }));
  return (
    <div className="field" ref={control}>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the control itself can be reached with the keyboard. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: see above. */}
      <span id={`${id}-label`} onClick={focus}>
        {label}
      </span>
      <Select id={id} labelId={`${id}-label`} describedBy={ids.length > 0 ? ids.join(' ') : undefined} {...rest} />
      {hasHint && (
        <small className="field-hint" id={`${id}-hint`}>
          {hint}
        </small>
      )}
    </div>
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
