/** The entry point. */
import './styles.ts'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { nonce } from './nonce.ts'

// styles that Mantine injects must carry the nonce
Object.assign(window, { __webpack_nonce__: nonce })

createRoot(document.getElementById('root')!).render(<App />)
