import type { ReactNode } from 'react';
import { useData } from '../api/use-data.ts';
import { type ChannelPrivacy, FoldersDocument } from '../generated/graphql.ts';
import { useRights } from '../people/use-viewer.ts';
import { type Described, DraftForm, type DraftProps } from '../ui/draft-form.tsx';
import { Choice } from '../ui/form.tsx';
import { PRIVACIES, privaciesFor } from './privacies.ts';

/** The editable properties of a channel, without its permissions. */
export interface ChannelDraft extends Described {
  readonly privacy: ChannelPrivacy;
  /** ID of the channel's folder. Empty if the channel is in no folder. */
  readonly folderId: string;
}

interface Props extends DraftProps<ChannelDraft> {
  /** Renders a further field below the visibility, which depends on it. */
  readonly belowPrivacy?: (privacy: ChannelPrivacy) => ReactNode;
}

/** Form for the properties of a channel. */
export function ChannelForm({ belowPrivacy, ...props }: Props) {
  const read = useData(FoldersDocument, {});
  const allowed = privaciesFor(useRights());
  // The current privacy level is always an option, even if the viewer is not allowed to choose it for other channels.
  const privacies = PRIVACIES.filter(([privacy]) => privacy === props.before.privacy || allowed.includes(privacy));
  const { nodes: folders = [], totalCount = 0 } = read.data?.channelFolders ?? {};
  return (
    <DraftForm
      {...props}
      nameLimit={60}
      description={{ label: 'Description', hint: 'Supports Markdown.' }}
      fields={({ privacy, folderId }, put) => (
        <>
          <Choice label="Visibility" options={privacies} value={privacy} onChoose={(privacy) => put({ privacy })} />
          {belowPrivacy?.(privacy)}
          <Choice
            label="Folder"
            hint={(totalCount ?? 0) > folders.length && `Showing the first ${folders.length} of ${totalCount} folders.`}
            options={[['', 'None'], ...folders.map(({ id, name }) => [id, name] as const)]}
            value={folderId}
            onChoose={(folderId) => put({ folderId })}
          />
        </>
      )}
    />
  );
}
