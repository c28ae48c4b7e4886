import { useQuery } from 'urql';
import { useRights } from '../conversation/use-viewer.ts';
import { FoldersDocument } from '../generated/graphql.ts';
import { type Described, DraftForm, type DraftProps } from '../ui/draft-form.tsx';
import { Choice } from '../ui/form.tsx';
import { PRIVACIES, type Privacy, privaciesFor } from './privacies.ts';

/** What a channel is, apart from who may do what in it. */
export interface ChannelDraft extends Described {
  readonly privacy: Privacy;
  /** "" for none. */
  readonly folderId: string;
}

/** Asks for what a channel is. */
export function ChannelForm(props: DraftProps<ChannelDraft>) {
  const [{ data }] = useQuery({ query: FoldersDocument });
  const allowed = privaciesFor(useRights());
  // What it is already it may stay.
  const privacies = PRIVACIES.filter(([privacy]) => privacy === props.before.privacy || allowed.includes(privacy));
  const { nodes: folders = [], totalCount = 0 } = data?.channelFolders ?? {};
  return (
    <DraftForm
      {...props}
      nameLimit={60}
      description={{ label: 'Description', hint: 'Markdown' }}
      fields={({ privacy, folderId }, put) => (
        <>
          <Choice
            label="Who can read it"
            options={privacies}
            value={privacy}
            onChoose={(privacy) => put({ privacy })}
          />
          <Choice
            label="Folder"
            hint={(totalCount ?? 0) > folders.length && `The first ${folders.length} of ${totalCount}.`}
            options={[['', 'None'], ...folders.map(({ id, name }) => [id, name] as const)]}
            value={folderId}
            onChoose={(folderId) => put({ folderId })}
          />
        </>
      )}
    />
  );
}
