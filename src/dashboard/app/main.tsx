/** Where the page begins. */
import './styles.ts'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { nonce } from './nonce.ts'

// styles that the kit's parts make by themselves have to carry it
Object.assign(window, { __webpack_nonce__: nonce })

createRoot(document.getElementById('root')!).render(<App />)
