import type { FormEvent } from 'react';
import { useCommand } from '../api/use-command.ts';
import { AddNavigationViewDocument } from '../generated/graphql.ts';
import { useFirstScreen } from '../people/use-viewer.ts';
import { addressOf } from '../routing/routes.ts';
import { viewsOf } from '../routing/views.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Refusal, TextField } from '../ui/form.tsx';

/** Button that adds a search to the views of the sidebar. Renders nothing if the sidebar already contains it. */
export function KeepView({ text }: { readonly text: string }) {
  const data = useFirstScreen();
  const address = addressOf({ name: 'search', text });
  const isKept = viewsOf(data?.navigationViews?.nodes ?? []).some((view) => view.address === address);
  if (isKept) return null;
  return (
    <IconButton
      icon="pin"
      label="Save search to sidebar"
      onClick={() =>
        openDialog(
          <Dialog title="Save search">
            <KeepForm text={text} />
          </Dialog>,
        )
      }
    />
  );
}

function KeepForm({ text }: { readonly text: string }) {
  const close = useClose();
  const command = useCommand(AddNavigationViewDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name') ?? '').trim();
    const fragment = addressOf({ name: 'search', text }).slice(1);
    if (await command.run({ input: { fragment, name, isPinned: true } })) close();
  };
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Name"
        name="name"
        defaultValue={text.slice(0, 100)}
        maxLength={100}
        required
        data-autofocus
        hint="Name of the view in the sidebar."
      />
      <Refusal>{command.refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={command.isBusy}>
          Save
        </Button>
      </div>
    </form>
  );
}
