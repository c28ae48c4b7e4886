import { FolderList } from '../administration/folder-list.tsx';
import { Dialog } from '../ui/dialog.tsx';

/** Dialog with the channel folders, whose order is the same for all users. */
export const Folders = () => (
  <Dialog title="Channel folders">
    <FolderList />
  </Dialog>
);
