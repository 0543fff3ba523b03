complete --keep-order --exclusive --command kvshoot --arguments "(COMPLETE=fish kvshoot -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
