import { type FormEvent, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  AddCustomEmojiDocument,
  CustomEmojiPageDocument,
  type CustomEmojiPageQuery,
  DeactivateCustomEmojiDocument,
} from '../generated/graphql.ts';
import { useRights, useViewer } from '../people/use-viewer.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';

type Emoji = NonNullable<CustomEmojiPageQuery['customEmoji']>['nodes'][number];

/** Custom emoji of the organization, with a form for new ones. */
export function CustomEmoji() {
  const { viewerCanAddCustomEmoji = false } = useRights();
  return (
    <>
      {viewerCanAddCustomEmoji && <NewEmoji />}
      <ul className="plain-list" aria-label="Custom emoji">
        <Pages of="emoji">{(page) => <EmojiPage page={page} />}</Pages>
      </ul>
    </>
  );
}

function NewEmoji() {
  const { run, refusal, isBusy } = useCommand(AddCustomEmojiDocument);
  const [name, setName] = useState('');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const image = new FormData(form).get('image') as File;
    if (!(await run({ input: { name, image } }))) return;
    form.reset();
    setName('');
    notify(`:${name}: was added.`);
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Add an emoji">
      <TextField
        label="Image"
        name="image"
        type="file"
        required
        accept="image/png,image/jpeg,image/webp,image/gif"
        hint="PNG, JPEG, WebP or GIF, 5 MiB at most. Square images look best."
        onChange={({ currentTarget: { files } }) => name === '' && setName(nameFor(files?.[0]?.name ?? ''))}
      />
      <TextField
        label="Name"
        required
        maxLength={100}
        hint="Lowercase letters, digits, dashes and underscores."
        value={name}
        onChange={({ currentTarget: { value } }) => setName(value)}
      />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy}>
          Add emoji
        </Button>
      </div>
    </form>
  );
}

/** Returns a name for an emoji from the name of its file. */
const nameFor = (file: string): string =>
  file
    .replace(/\.[^.]*$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '_')
    .replaceAll(/^[_-]+|[_-]+$/g, '');

function EmojiPage({ page }: { readonly page: ListPage }) {
  const read = useData(CustomEmojiPageDocument, { after: page.after }, { requestPolicy: 'cache-and-network' });
  const { viewer, viewerId } = useViewer();
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.customEmoji ?? {};
  const active = nodes.filter(({ isActive }) => isActive);
  const isAdministrator = viewer?.role === 'OWNER' || viewer?.role === 'ADMINISTRATOR';
  return (
    <>
      {active.map((emoji) => (
        <EmojiRow key={emoji.id} emoji={emoji} mayDeactivate={isAdministrator || emoji.author?.id === viewerId} />
      ))}
      {active.length === 0 && page.after === null && <li className="row soft">No custom emoji.</li>}
      <More page={page} info={pageInfo}>
        More emoji
      </More>
    </>
  );
}

function EmojiRow({ emoji, mayDeactivate }: { readonly emoji: Emoji; readonly mayDeactivate: boolean }) {
  const { name, imageUrl, author } = emoji;
  return (
    <li className="row">
      <img src={imageUrl} alt="" width={32} height={32} loading="lazy" />
      <div className="row-body">
        <strong>:{name}:</strong>
        {author !== null && (
          <p className="soft">
            Added by <bdi>{author.fullName}</bdi>
          </p>
        )}
      </div>
      {mayDeactivate && (
        <Button aria-label={`Deactivate ${name}`} onClick={() => openDialog(<Deactivation name={name} />)}>
          Deactivate
        </Button>
      )}
    </li>
  );
}

function Deactivation({ name }: { readonly name: string }) {
  const { run, refusal, isBusy } = useCommand(DeactivateCustomEmojiDocument);
  return (
    <Confirmation
      title={`Deactivate :${name}:?`}
      action="Deactivate"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={() => run({ input: { name } })}
    >
      It cannot be used in new messages and reactions. Existing messages and reactions keep it. You cannot reactivate
      it, but you can use the name again.
    </Confirmation>
  );
}
