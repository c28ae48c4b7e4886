import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Field, Refusal, TextField } from './form.tsx';

/** Name and description of an object that users create, such as a channel or a group. */
export interface Described {
  readonly name: string;
  readonly description: string;
}

export interface DraftProps<D extends Described> {
  readonly before: D;
  readonly saveAs: string;
  /** If true, the form is read-only. */
  readonly isFixed?: boolean;
  readonly isBusy: boolean;
  readonly refusal: string | undefined;
  /**
   * Saves the form.
   *
   * @param begun The values when the form was opened. The user has changed only the properties that have another value in
   *   `draft`.
   */
  readonly save: (draft: D, begun: D) => void;
  readonly children?: ReactNode;
}

/** Returns the properties of a draft whose values differ from the initial values. */
export const changesIn = <D extends object>(draft: D, begun: D): Partial<D> =>
  Object.fromEntries(Object.entries(draft).filter(([key, value]) => value !== begun[key as keyof D])) as Partial<D>;

interface Props<D extends Described> extends DraftProps<D> {
  readonly nameLimit: number;
  readonly description: { readonly label: string; readonly hint?: string };
  /** Renders further fields of the form. `draft` contains the current values of the form, and `put` replaces some of them. */
  readonly fields?: (draft: D, put: (part: Partial<D>) => void) => ReactNode;
}

/** Form for a name, a description and further fields. */
export function DraftForm<D extends Described>(props: Props<D>) {
  const { before, saveAs, isFixed = false, isBusy, refusal, save, children, nameLimit, description, fields } = props;
  const [begun] = useState(before);
  const [draft, setDraft] = useState(before);
  const put = (part: Partial<D>) => setDraft((now) => ({ ...now, ...part }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save(draft, begun);
  };
  return (
    <form className="form" onSubmit={submit}>
      <fieldset className="form group-of-fields" disabled={isFixed}>
        <TextField
          label="Name"
          required
          maxLength={nameLimit}
          data-autofocus
          value={draft.name}
          onChange={({ currentTarget: { value } }) => put({ name: value } as Partial<D>)}
        />
        <Field {...description}>
          <textarea
            className="input"
            rows={2}
            maxLength={1024}
            value={draft.description}
            onChange={({ currentTarget: { value } }) => put({ description: value } as Partial<D>)}
          />
        </Field>
        {fields?.(draft, put)}
      </fieldset>
      {children}
      <Refusal>{refusal}</Refusal>
      {!isFixed && (
        <div className="form-actions">
          <Button kind="primary" type="submit" disabled={isBusy}>
            {saveAs}
          </Button>
        </div>
      )}
    </form>
  );
}
