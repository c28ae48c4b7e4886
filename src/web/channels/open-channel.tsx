import { openDialog } from '../ui/dialog.tsx';
import { lazyDialog } from '../ui/lazy-dialog.tsx';

// The code of each dialog is loaded when the dialog is first opened.
const ChannelSettings = lazyDialog(async () => (await import('./channel-settings.tsx')).ChannelSettings);
const CreateChannel = lazyDialog(async () => (await import('./create-channel.tsx')).CreateChannel);
const MembersDialog = lazyDialog(async () => (await import('./members.tsx')).MembersDialog);
const Folders = lazyDialog(async () => (await import('./folders.tsx')).Folders);

/**
 * Opens the settings of a channel: properties, permissions, subscribers, and the viewer's own settings for it.
 *
 * @param first Tab that is shown first.
 */
export const openChannelSettings = (channelId: string, first?: 'subscribers'): void =>
  openDialog(<ChannelSettings channelId={channelId} first={first} />);
export const openMembers = (channelId: string): void => openDialog(<MembersDialog channelId={channelId} />);
export const openCreateChannel = (): void => openDialog(<CreateChannel />);
export const openFolders = (): void => openDialog(<Folders />);
