import { type ComponentType, type ReactNode, useEffect, useState } from 'react';
import type { Data } from '../api/use-data.ts';
import { useStore } from '../base/store.ts';
import { type ChunkState, chunkOf } from './chunks.ts';
import { NotReady } from './not-ready.tsx';

interface Options<P> {
  /** Frame around the loading or error message that is shown while the chunk is not loaded. */
  readonly Frame: ComponentType<P & { readonly children: ReactNode }>;
  /** If true, nothing is shown until loading has failed. */
  readonly isHiddenAtFirst?: boolean;
  /**
   * Called if the chunk cannot be loaded although the service responds. `isAsked`: whether the user has retried to load the
   * chunk.
   */
  readonly onGone?: (isAsked: boolean) => void;
}

/** Wraps a component whose chunk is loaded when the component is first shown, or earlier when the browser is idle. */
export function lazily<P extends object>(
  importComponent: () => Promise<ComponentType<P>>,
  { Frame, isHiddenAtFirst = false, onGone }: Options<P>,
): ComponentType<P> {
  const { state, load } = chunkOf(importComponent);
  return function Lazy(props: P) {
    const current = useStore(state);
    const [tries, setTries] = useState(0);
    // biome-ignore lint/correctness/useExhaustiveDependencies: each retry loads the chunk again.
    useEffect(() => {
      const gone = new AbortController();
      void load(gone.signal);
      return () => gone.abort();
    }, [tries]);
    const isGone = current.name === 'gone';
    // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the chunk becomes unavailable, not on each retry.
    useEffect(() => {
      if (isGone) onGone?.(tries > 0);
    }, [isGone]);
    if (current.name === 'loaded') {
      const Component = current.module;
      return <Component {...props} />;
    }
    if (isHiddenAtFirst && current.name === 'absent') return null;
    return (
      <Frame {...props}>
        <NotReady of={dataOf(current, () => setTries(tries + 1))} />
      </Frame>
    );
  };
}

function dataOf({ name }: ChunkState<unknown>, retry: () => void): Data<never> {
  if (name === 'absent') return { state: 'loading' };
  if (name === 'gone') return { state: 'failed', message: 'This part of the page could not be loaded.', retry };
  const message = navigator.onLine
    ? 'The service does not respond. Retrying…'
    : 'You are offline. Loading continues when the connection is back.';
  return { state: 'failed', message, retry };
}
