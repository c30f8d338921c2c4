/** The app: theme, notifications and router. */
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect } from 'react'
import { watchSession } from '../api/session.ts'
import { nonce } from './nonce.ts'
import { router } from './router.tsx'
import { cssVariables, theme } from './theme.ts'

export function App() {
  // the routes redirect signed-out users
  useEffect(() => watchSession(() => void router.invalidate()), [])
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
      cssVariablesResolver={cssVariables}
    >
      <Notifications position="bottom-right" />
      <RouterProvider router={router} />
    </MantineProvider>
  )
}
