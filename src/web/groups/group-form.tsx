import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Field, Refusal, TextField } from '../ui/form.tsx';

/** What a group is called, and what it is for. */
export interface GroupDraft {
  readonly name: string;
  readonly description: string;
}

interface Props {
  readonly before: GroupDraft;
  readonly saveAs: string;
  readonly isFixed?: boolean;
  readonly isBusy: boolean;
  readonly refusal: string | undefined;
  /** @param begun As it was when the form began: only what differs was changed here. */
  readonly save: (draft: GroupDraft, begun: GroupDraft) => void;
  readonly children?: ReactNode;
}

/** Asks for what a group is. */
export function GroupForm({ before, saveAs, isFixed = false, isBusy, refusal, save, children }: Props) {
  const [begun] = useState(before);
  const [draft, setDraft] = useState(before);
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
          maxLength={100}
          data-autofocus
          value={draft.name}
          onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
        />
        <Field label="What it is for">
          <textarea
            className="input"
            rows={2}
            maxLength={1024}
            value={draft.description}
            onChange={(event) => setDraft({ ...draft, description: event.currentTarget.value })}
          />
        </Field>
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
