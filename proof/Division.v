(** Division by one digit: one row of cells "/" which flows down, then a cell "r" for the remainder. *)

From Digitwise Require Export Follows.

(** The wiring: the cell at place p sees m x_p, where m is the divisor and x the dividend, and hears the cell at place
    p + 1; the cell "r" sees m and a pad, and hears the cell at place 0. *)
Definition division_places (m : ascii) (x : list ascii) : list (place N) :=
  map (fun c => Place "/"%char [m; c] None) (rev x) ++ [Place "r"%char [m; pad] None].

(** What the cells write, from the lowest up: the remainder, then the symbols at places 0, 1, ... *)
Definition run_division (t : table) (m : ascii) (x : list ascii) : option (list ascii) :=
  option_map (fun r => rev (written r)) (row (cell t) None (division_places m x)).

(** A word of digits q with as many digits as the dividend x: pads where x has pads. *)
Definition over (x q : list ascii) : list ascii :=
  map (fun xq => if Ascii.eqb (fst xq) pad then pad else snd xq) (combine x q).

(** * The plan: the divisor, the remainder so far, and what has been seen of the dividend *)

Module Division.
  (** Nothing yet; pads; a highest digit 0, which is the whole number; a highest digit that is not 0. The last is the
      stage below the cell "r". *)
  Inductive stage := Nothing | Pads | Lone_zero | Digits | Below.

  Definition state : Type := N * N * stage.

  Definition state_eq (a b : state) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  (** The stage after a cell "/" that sees x. *)
  Definition stage_after (g : stage) (x : ascii) : option stage :=
    match g, Ascii.eqb x pad with
    | Nothing, true | Pads, true => Some Pads
    | Pads, false => Some (if Ascii.eqb x (digit 0) then Lone_zero else Digits)
    | Digits, false => Some Digits
    | _, _ => None
    end.

  Definition plan (s : state) (p : place Empty_set) : option (doing (S := state) (T := Empty_set)) :=
    let '(m, rest, g) := s in
    match sees p with
    | [c; x] =>
        if Ascii.eqb c (digit m) && (if in_dec ascii_dec x symbols then true else false) then
          if Ascii.eqb (stands p) "/" then
            match stage_after g x with
            | Some g' =>
                let total := 10 * rest + count x in
                Some (Do (m, total mod m, g') (Some (if Ascii.eqb x pad then pad else digit (total / m))) None)
            | None => None
            end
          else if Ascii.eqb (stands p) "r" && Ascii.eqb x pad then
            match g with
            | Lone_zero | Digits => Some (Do (m, rest, Below) (Some (digit rest)) None)
            | _ => None
            end
          else None
        else None
    | _ => None
    end.

  Definition shapes (s : state) : list (ascii * list ascii) :=
    let '(m, _, _) := s in ("r"%char, [digit m; pad]) :: map (fun x => ("/"%char, [digit m; x])) symbols.

  Definition stage_key (g : stage) : N :=
    match g with Nothing => 0 | Pads => 1 | Lone_zero => 2 | Digits => 3 | Below => 4 end.

  Definition key (s : state) : N := let '(m, rest, g) := s in mix (mix m rest) (stage_key g).

  Definition starts : list state := map (fun m => (m, 0, Nothing)) (tl ten).

  (** Situations in which the table does not do what the plan does; to be computed for a given table. *)
  Definition wrong : table -> list situation := wrong state_eq no_meaning key plan shapes starts.

  Lemma shapes_are_all s p d : plan s p = Some d -> In (stands p, sees p) (shapes s).
  Proof.
    destruct s as [[m rest] g]. unfold plan. destruct (sees p) as [|c [|x []]]; try easy.
    destruct (Ascii.eqb_spec c (digit m)) as [->|]; [|easy]. destruct (in_dec ascii_dec x symbols) as [I|]; [|easy].
    cbn [andb]. destruct (Ascii.eqb_spec (stands p) "/") as [->|].
    - intros _. right. now apply (in_map (fun x => ("/"%char, [digit m; x]))).
    - destruct (Ascii.eqb_spec (stands p) "r") as [->|]; [|easy].
      destruct (Ascii.eqb_spec x pad) as [->|]; [|easy]. intros _. now left.
  Qed.

  Lemma start_in m : 1 <= m <= 9 -> In (m, 0, Nothing) starts.
  Proof.
    intros H. apply (in_map (fun m => (m, 0, Nothing))).
    destruct (below_ten m ltac:(lia)) as [<-|I]; [lia|exact I].
  Qed.

  (** One step of long division: of u, the digit u mod 10 is brought down to the remainder of u / 10. *)
  Lemma long_division u m : m <> 0 ->
    (10 * ((u / 10) mod m) + u mod 10) / m = (u / m) mod 10 /\ (10 * ((u / 10) mod m) + u mod 10) mod m = u mod m.
  Proof.
    intros M. set (v := u / 10). set (total := 10 * (v mod m) + u mod 10).
    assert (u = 10 * v + u mod 10) as U by (unfold v; lia).
    pose proof (N.div_mod v m M) as V. pose proof (N.div_mod total m M) as T.
    pose proof (N.mod_lt v m M) as Lv. pose proof (N.mod_lt total m M) as Lt.
    assert (total / m < 10) as L10 by (apply N.div_lt_upper_bound; [exact M|]; unfold total; lia).
    assert (u = m * (10 * (v / m) + total / m) + total mod m) as E.
    { transitivity (10 * (m * (v / m)) + total); [unfold total; lia|]. rewrite T at 1. lia. }
    rewrite <- (N.div_unique u m _ _ Lt E), <- (N.mod_unique u m _ _ Lt E). split; [|reflexivity].
    generalize dependent (total / m). intros q _ L _. generalize (v / m). intros w. lia.
  Qed.

  Section Numbers.
    Variables (m n : N).
    Hypothesis Hm : 1 <= m <= 9.

    Definition seen_at (q : nat) : ascii := symbol_at (lowest q) (shifted n q).

    Definition answer (q : nat) : ascii :=
      if Ascii.eqb (seen_at q) pad then pad else digit (shifted (n / m) q mod 10).

    Definition places (P : nat) : list (place Empty_set) :=
      map (fun q => Place "/"%char [digit m; seen_at q] None) (down P) ++ [Place "r"%char [digit m; pad] None].

    (** What a stage says of the places below P. *)
    Definition fits (g : stage) (P : nat) : Prop :=
      match g with
      | Nothing => (1 < P)%nat /\ shifted n (P - 1) = 0
      | Pads => (0 < P)%nat /\ shifted n P = 0
      | Lone_zero => P = O
      | Digits => shifted n P <> 0
      | Below => False
      end.

    Lemma seen_is_symbol q : In (seen_at q) symbols.
    Proof. unfold seen_at, symbol_at. destruct (_ && _); [now left|auto using digit_is_symbol]. Qed.

    Lemma count_seen q : count (seen_at q) = shifted n q mod 10.
    Proof.
      unfold seen_at, symbol_at. destruct (N.eqb_spec (shifted n q) 0) as [->|]; destruct (lowest q); cbn [negb andb];
        now rewrite ?count_digit.
    Qed.

    Lemma fits_step g P : fits g (S P) -> g <> Lone_zero ->
      exists g', stage_after g (seen_at P) = Some g' /\ fits g' P.
    Proof.
      intros F NL. unfold seen_at, symbol_at. pose proof (shifted_down n P) as E.
      destruct g; cbn [fits] in F; try easy.
      - destruct F as [L Z]. replace (S P - 1)%nat with P in Z by lia. rewrite Z.
        destruct P as [|P]; [lia|]. exists Pads. split; [reflexivity|]. cbn. split; [lia|exact Z].
      - destruct F as [_ Z]. rewrite E in Z. destruct (N.eqb_spec (shifted n P) 0) as [Z'|NZ'].
        + destruct P as [|P]; cbn [lowest Nat.eqb negb andb].
          * rewrite Z'. now exists Lone_zero.
          * exists Pads. split; [reflexivity|]. cbn. split; [lia|exact Z'].
        + rewrite Bool.andb_false_r. exists Digits. unfold stage_after. rewrite digit_not_pad by auto.
          rewrite digit_not_zero by lia. now split.
      - assert (shifted n P <> 0) as NZ' by lia. exists Digits. split; [|exact NZ'].
        apply N.eqb_neq in NZ'. rewrite NZ', Bool.andb_false_r. unfold stage_after. now rewrite digit_not_pad by auto.
    Qed.

    (** The plan divides. *)
    Lemma plan_divides P : forall g, fits g P ->
      exists ds, planned plan (m, shifted n P mod m, g) (places P) = Some ds
        /\ map writes ds = map Some (map answer (down P) ++ [digit (n mod m)]).
    Proof.
      induction P as [|P IH]; intros g F.
      - unfold places. cbn [down seq rev map app planned]. rewrite shifted_zero. unfold plan. cbn [sees stands].
        rewrite Ascii.eqb_refl. cbn.
        destruct g; cbn [fits] in F; try lia; eexists; split; reflexivity.
      - destruct (fits_step g P F) as (g' & A & F'); [intros ->; cbn in F; lia|].
        destruct (IH g' F') as (ds & D & W).
        destruct (long_division (shifted n P) m ltac:(lia)) as [Q R].
        unfold places in *. rewrite down_succ. cbn [map app planned].
        unfold plan at 1. cbn [sees stands]. rewrite !Ascii.eqb_refl.
        destruct (in_dec ascii_dec (seen_at P) symbols) as [_|NI]; [|destruct NI; apply seen_is_symbol].
        cbn [andb]. rewrite A, count_seen, shifted_down, Q, R. cbn [next]. rewrite D. eexists. split; [reflexivity|].
        cbn [map app writes]. rewrite W. do 2 f_equal. unfold answer. destruct (Ascii.eqb _ pad); [reflexivity|].
        do 2 f_equal. unfold shifted. rewrite !N.div_div by (try apply N.pow_nonzero; lia). now rewrite N.mul_comm.
    Qed.

    Lemma like_places rows P : Forall2 (like rows) (division_places (digit m) (word P n)) (places P).
    Proof.
      unfold division_places, places. apply Forall2_app; [|repeat constructor].
      rewrite word_places, <- map_rev, map_map. fold (down P). induction (down P); constructor; [now repeat split|auto].
    Qed.
  End Numbers.
End Division.

(** The theorem. If the check of a table finds nothing wrong, its row divides every number n by every m from 1 to 9, on
    more places than n has digits (n has at most p digits, and p is at least 1): the cell "r" writes the remainder, the
    others the quotient's digits, as many as n has, and pads. *)
Theorem division_right t : Division.wrong t = [] ->
  forall (m n : N) (p : nat), 1 <= m <= 9 -> (0 < p)%nat -> n < 10 ^ N.of_nat p ->
  run_division t (digit m) (word (S p) n)
    = Some (digit (n mod m) :: over (word (S p) n) (zeros (S p) (n / m))).
Proof.
  intros H m n p Hm Hp L. destruct (found _ _ _ _ _ _ _ H) as (pairs & rows & G & S).
  assert (shifted n p = 0) as Z by (apply N.div_small, L).
  destruct (Division.plan_divides m n Hm (Datatypes.S p) Division.Nothing) as (ds & D & W).
  { split; [lia|]. now replace (Datatypes.S p - 1)%nat with p by lia. }
  rewrite shifted_down, Z in D.
  destruct (row_follows _ _ _ _ _ Division.shapes_are_all _ _ _ _ G S _ _ _ _ (Division.start_in m Hm)
    (Division.like_places m n rows (Datatypes.S p)) D) as (r & R & F).
  unfold run_division. rewrite R. cbn [option_map]. f_equal. rewrite (does_written _ _ _ _ F W).
  rewrite rev_app_distr. cbn [rev app]. f_equal. rewrite <- map_rev. unfold down. rewrite rev_involutive.
  unfold over. rewrite word_places, zeros_places, combine_maps, map_map. reflexivity.
Qed.

Lemma value_over P : forall low n q, q <= n -> value (over (word_from low P n) (zeros P q)) = value (zeros P q).
Proof.
  unfold over, zeros. induction P as [|P IH]; intros low n q L; [reflexivity|].
  cbn [word_from digits map combine value fst snd]. rewrite IH by lia. f_equal.
  change (if negb low && (n =? 0) then pad else digit (n mod 10)) with (symbol_at low n). unfold symbol_at.
  destruct (N.eqb_spec n 0) as [->|]; destruct low; cbn [negb andb]; rewrite ?digit_not_pad by auto; try reflexivity.
  replace q with 0 by lia. reflexivity.
Qed.

(** So the symbols above the remainder's have the value n / m. *)
Corollary division_right_value t : Division.wrong t = [] ->
  forall (m n : N) (p : nat), 1 <= m <= 9 -> (0 < p)%nat -> n < 10 ^ N.of_nat p ->
  exists r q, run_division t (digit m) (word (S p) n) = Some (r :: q) /\ count r = n mod m /\ value q = n / m.
Proof.
  intros H m n p Hm Hp L. assert (n / m <= n) by (apply N.div_le_upper_bound; nia).
  eexists _, _. split; [now apply division_right|]. split.
  - apply count_digit. assert (n mod m < m) by (apply N.mod_lt; lia). lia.
  - unfold word. rewrite value_over, value_zeros; [reflexivity| |assumption]. rewrite pow_succ. lia.
Qed.
