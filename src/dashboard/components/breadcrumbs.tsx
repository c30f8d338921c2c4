/** Breadcrumbs above a page's heading. */
import { Breadcrumbs as Crumbs } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './breadcrumbs.module.css'

export function Breadcrumbs({ children }: { children: ReactNode[] }) {
  return (
    <nav aria-label="Breadcrumbs">
      <Crumbs separatorMargin={6} classNames={{ breadcrumb: classes.crumb, separator: classes.crumb }}>
        {children}
      </Crumbs>
    </nav>
  )
}
