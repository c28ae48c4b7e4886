import { type FormEvent, type ReactNode, useState } from 'react';
import { useQuery } from 'urql';
import { useRights } from '../conversation/use-viewer.ts';
import { FoldersDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Choice, Field, Refusal, TextField } from '../ui/form.tsx';
import { PRIVACIES, type Privacy, privaciesFor } from './privacies.ts';

/** What a channel is, apart from who may do what in it. */
export interface ChannelDraft {
  readonly name: string;
  readonly description: string;
  readonly privacy: Privacy;
  /** "" for none. */
  readonly folderId: string;
}

interface Props {
  readonly before: ChannelDraft;
  readonly saveAs: string;
  readonly isFixed?: boolean;
  readonly isBusy: boolean;
  readonly refusal: string | undefined;
  readonly save: (draft: ChannelDraft) => void;
  readonly children?: ReactNode;
}

/** Asks for what a channel is. */
export function ChannelForm({ before, saveAs, isFixed = false, isBusy, refusal, save, children }: Props) {
  const [draft, setDraft] = useState(before);
  const [{ data }] = useQuery({ query: FoldersDocument });
  const allowed = privaciesFor(useRights());
  // What it is already it may stay.
  const privacies = PRIVACIES.filter(([privacy]) => privacy === before.privacy || allowed.includes(privacy));
  const put = (part: Partial<ChannelDraft>) => setDraft({ ...draft, ...part });
  const { nodes: folders = [], totalCount = 0 } = data?.channelFolders ?? {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save(draft);
  };
  return (
    <form className="form" onSubmit={submit}>
      <fieldset className="form group-of-fields" disabled={isFixed}>
        <TextField
          label="Name"
          required
          maxLength={60}
          data-autofocus
          value={draft.name}
          onChange={(event) => put({ name: event.currentTarget.value })}
        />
        <Field label="Description" hint="Markdown">
          <textarea
            className="input"
            rows={2}
            maxLength={1024}
            value={draft.description}
            onChange={(event) => put({ description: event.currentTarget.value })}
          />
        </Field>
        <Choice
          label="Who can read it"
          options={privacies}
          value={draft.privacy}
          onChoose={(privacy) => put({ privacy })}
        />
        <Choice
          label="Folder"
          hint={(totalCount ?? 0) > folders.length && `The first ${folders.length} of ${totalCount}.`}
          options={[['', 'None'], ...folders.map(({ id, name }) => [id, name] as const)]}
          value={draft.folderId}
          onChoose={(folderId) => put({ folderId })}
        />
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
