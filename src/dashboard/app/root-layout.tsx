/** The outermost layout, with the skip link. */
import { Outlet } from '@tanstack/react-router'

export function RootLayout() {
  return (
    <>
      <a className="skip-link" href="#page">
        Skip to content
      </a>
      <Outlet />
    </>
  )
}
