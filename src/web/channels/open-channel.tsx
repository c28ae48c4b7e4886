import { lazy } from 'react';
import { openDialog } from '../ui/dialog.tsx';

// They are fetched when somebody wants to see them.
const ChannelSettings = lazy(() =>
  import('./channel-settings.tsx').then((module) => ({ default: module.ChannelSettings })),
);
const CreateChannel = lazy(() => import('./create-channel.tsx').then((module) => ({ default: module.CreateChannel })));
const Folders = lazy(() => import('./folders.tsx').then((module) => ({ default: module.Folders })));

/** Shows what a channel is and who may do what in it, and what the viewer makes of it. */
export const openChannelSettings = (channelId: string): void => openDialog(<ChannelSettings channelId={channelId} />);
export const openCreateChannel = (): void => openDialog(<CreateChannel />);
export const openFolders = (): void => openDialog(<Folders />);
