import { openDialog } from '../ui/dialog.tsx';
import { lazyDialog } from '../ui/lazy-dialog.tsx';

// The code of each dialog is loaded when the dialog is first opened.
const GroupDialog = lazyDialog(async () => (await import('./group-dialog.tsx')).GroupDialog);
const CreateGroup = lazyDialog(async () => (await import('./create-group.tsx')).CreateGroup);

/** Opens a group: its members, properties and permissions. */
export const openGroup = (userGroupId: string): void => openDialog(<GroupDialog userGroupId={userGroupId} />);
export const openCreateGroup = (): void => openDialog(<CreateGroup />);
