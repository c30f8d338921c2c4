/** Breadcrumbs above the heading of a page about deployments. */
import { Breadcrumbs as Crumbs } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import classes from './components.module.css'
import { LinkTo } from './links.tsx'

interface BreadcrumbsProps {
  /** the deployment that the page belongs to */
  deployment?: { id: string; name: string }
  /** the page itself, if its heading has another name */
  here?: string
}

export function Breadcrumbs({ deployment, here }: BreadcrumbsProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  return (
    <nav aria-label="Breadcrumbs">
      <Crumbs separatorMargin={6} classNames={{ breadcrumb: classes.crumb, separator: classes.crumb }}>
        <LinkTo to="/w/$ws/deployments" params={{ ws }}>
          Deployments
        </LinkTo>
        {deployment && (
          <LinkTo to="/w/$ws/deployments/$id" params={{ ws, id: deployment.id }}>
            {deployment.name}
          </LinkTo>
        )}
        {here}
      </Crumbs>
    </nav>
  )
}
