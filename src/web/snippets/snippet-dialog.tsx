import type { FormEvent } from 'react';
import { useCommand } from '../api/use-command.ts';
import {
  CreateSavedSnippetDocument,
  type SnippetRowFragment as Snippet,
  UpdateSavedSnippetDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Field, Refusal, TextField } from '../ui/form.tsx';

interface Props {
  /** The snippet to change. If absent, the dialog creates a snippet. */
  readonly snippet?: Snippet;
  /** Initial text of a new snippet. */
  readonly content?: string;
}

/** Dialog that creates or changes a snippet. */
export function SnippetDialog(props: Props) {
  return (
    <Dialog title={props.snippet === undefined ? 'New snippet' : 'Edit snippet'}>
      <SnippetForm {...props} />
    </Dialog>
  );
}

function SnippetForm({ snippet, content }: Props) {
  const close = useClose();
  const create = useCommand(CreateSavedSnippetDocument);
  const update = useCommand(UpdateSavedSnippetDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const input = { title: String(fields.get('title')).trim(), content: String(fields.get('content')).trim() };
    const isDone =
      snippet === undefined
        ? await create.run({ input })
        : await update.run({ input: { savedSnippetId: snippet.id, ...input } });
    if (isDone) close();
  };
  return (
    <form className="form" onSubmit={submit}>
      <TextField label="Title" name="title" maxLength={60} required defaultValue={snippet?.title} data-autofocus />
      <Field label="Text">
        <textarea
          className="input"
          name="content"
          rows={6}
          dir="auto"
          required
          defaultValue={snippet?.content ?? content}
        />
      </Field>
      <Refusal>{create.refusal ?? update.refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={create.isBusy || update.isBusy}>
          Save
        </Button>
      </div>
    </form>
  );
}
