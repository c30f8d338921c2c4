/** A value before and after, as two marked texts: the signs say it without the colours, too. */
import { Stack, VisuallyHidden } from '@mantine/core'
import classes from './settings-page.module.css'

export function Difference({ before, after }: { before: string; after: string }) {
  return (
    <Stack gap={2}>
      <div className={classes.before}>
        <VisuallyHidden>before: </VisuallyHidden>− {before}
      </div>
      <div className={classes.after}>
        <VisuallyHidden>after: </VisuallyHidden>+ {after}
      </div>
    </Stack>
  )
}
