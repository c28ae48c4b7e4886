import { lazy } from 'react';
import { openDialog } from '../ui/dialog.tsx';

// They are fetched when somebody wants them.
const SearchDialog = lazy(() => import('./search-dialog.tsx').then((module) => ({ default: module.SearchDialog })));
const JumpDialog = lazy(() => import('./jump-dialog.tsx').then((module) => ({ default: module.JumpDialog })));

/** Asks what to look for. @param text What the line begins with. */
export const openSearch = (text = ''): void => openDialog(<SearchDialog initial={text} />);

/** Asks where to go. */
export const openJump = (): void => openDialog(<JumpDialog />);
