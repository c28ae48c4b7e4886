import { lazy } from 'react';
import { openDialog } from '../ui/dialog.tsx';

// They are fetched when somebody wants to see them.
const GroupDialog = lazy(() => import('./group-dialog.tsx').then((module) => ({ default: module.GroupDialog })));
const CreateGroup = lazy(() => import('./create-group.tsx').then((module) => ({ default: module.CreateGroup })));

/** Shows who is in a group and who may do what with it. */
export const openGroup = (userGroupId: string): void => openDialog(<GroupDialog userGroupId={userGroupId} />);
export const openCreateGroup = (): void => openDialog(<CreateGroup />);
