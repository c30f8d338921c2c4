/** The command palette's button and shortcut (⌘K or Ctrl K). The palette is loaded at the first use. */
import { Kbd, UnstyledButton } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { lazy, Suspense } from 'react'
import { createStore, useStore } from '../api/store.ts'
import classes from './navigation.module.css'

const View = lazy(() => import('./palette-view.tsx'))
const isRequested = createStore(false)

function open(): void {
  if (isRequested.get()) void import('./palette-view.tsx').then(({ palette }) => palette.toggle())
  // the palette opens itself once it is loaded
  else isRequested.set(true)
}

const KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K'

export function Palette() {
  useHotkeys([['mod+K', open]], [])
  return useStore(isRequested) ? (
    <Suspense>
      <View />
    </Suspense>
  ) : null
}

export function PaletteButton() {
  return (
    <UnstyledButton className={classes.search} onClick={open}>
      <IconSearch size={16} aria-hidden />
      <span>Find…</span>
      <Kbd size="xs">{KEY}</Kbd>
    </UnstyledButton>
  )
}
