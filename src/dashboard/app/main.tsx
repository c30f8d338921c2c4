/** The entry point: theme, notifications and router. */
import './styles.ts'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { watchSession } from '../api/session.ts'
import { router } from './router.tsx'
import { cssVariables, theme } from './styles.ts'

/** The nonce of the content security policy for inline styles. The server writes a new one into each index.html. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
// styles that Mantine injects must carry it
Object.assign(window, { __webpack_nonce__: nonce })

// uPlot throws while it loads if the browser's language is no BCP 47 tag (`en-US@posix`)
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' })
}

function App() {
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

createRoot(document.getElementById('root')!).render(<App />)
