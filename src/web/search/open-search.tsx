import { openDialog } from '../ui/dialog.tsx';
import { lazyDialog } from '../ui/lazy-dialog.tsx';

// The code of each dialog is loaded when the dialog is first opened.
const SearchDialog = lazyDialog(async () => (await import('./search-dialog.tsx')).SearchDialog);
const JumpDialog = lazyDialog(async () => (await import('./jump-dialog.tsx')).JumpDialog);

/** Opens the search dialog. @param text Initial search. */
export const openSearch = (text = ''): void => openDialog(<SearchDialog initial={text} />);

/** Opens the dialog that navigates to another view. */
export const openJump = (): void => openDialog(<JumpDialog />);
