/** Where the page begins. */
import './styles.ts'
import { createRoot } from 'react-dom/client'
import { askOtherTabs } from '../api/session.ts'
import { App } from './app.tsx'
import { nonce } from './nonce.ts'

// styles that the kit's parts make by themselves have to carry it
Object.assign(window, { __webpack_nonce__: nonce })

// a newer server has other files: the page that is open takes them when it needs one of its own that is gone
addEventListener('vite:preloadError', (event) => {
  const key = 'pilothouse.reloaded'
  if (Date.now() - Number(sessionStorage.getItem(key) ?? 0) < 10_000) return
  sessionStorage.setItem(key, String(Date.now()))
  event.preventDefault()
  location.reload()
})

await askOtherTabs()
createRoot(document.getElementById('root')!).render(<App />)
