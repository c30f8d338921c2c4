/** Terms and their values, in two columns. A fact without a value is left out. */
import { Fragment, type ReactNode } from 'react'
import classes from './components.module.css'

export const Facts = ({ facts }: { facts: Record<string, ReactNode> }) => (
  <dl className={classes.facts}>
    {Object.entries(facts).map(
      ([term, value]) =>
        value && (
          <Fragment key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
)
